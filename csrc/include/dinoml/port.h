// Words that every kernel shares, whatever the target: how a function is marked, the index type, lanes, storage types.
// The only place that asks which compiler this is; GPU sources see CUDA and HIP through the neutral names below.
#pragma once
#include <stdint.h>

#if defined(__CUDACC__) || defined(__HIP__)
#define DML_GPU 1
#if defined(__HIP__)
#include <hip/hip_runtime.h>
#endif
#define DML_FN __device__ __forceinline__
#define DML_HD __host__ __device__ __forceinline__
#define DML_INLINE  // after the parameters of a lambda
#define DML_UNROLL _Pragma("unroll")
#else
#define DML_GPU 0
#define DML_FN inline __attribute__((always_inline))
#define DML_HD inline __attribute__((always_inline))
#define DML_INLINE __attribute__((always_inline))
#define DML_UNROLL _Pragma("GCC unroll 64")
#endif

namespace dml {

using i64 = int64_t;

template <int N> struct Full { static constexpr int width = N; };         // all N lanes
template <int N> struct Part { static constexpr int width = N; int n; };  // the first n lanes, 0 <= n <= N

struct bf16 { uint16_t bits; };
struct f16 { uint16_t bits; };
struct b8 { uint8_t bits; };  // a bool of one byte

// An operand that is not evaluated by an accessor: element (i0, i1, i2, i3) is p[i0*s0 + i1*s1 + i2*s2 + i3*s3].
template <class S> struct Strided { const S* p; i64 s0, s1, s2, s3; };

// The type in which an element of storage type S is computed.
template <class S> struct Compute { using type = S; };
template <> struct Compute<bf16> { using type = float; };
template <> struct Compute<f16> { using type = float; };
template <> struct Compute<b8> { using type = bool; };
template <class S> using compute_t = typename Compute<S>::type;

// Integer types of the same size as T: for wrapping arithmetic and for bit patterns.
template <class T> struct Bits { using u = uint32_t; using s = int32_t; };  // float, int32_t, uint32_t
template <> struct Bits<double> { using u = uint64_t; using s = int64_t; };
template <> struct Bits<int64_t> { using u = uint64_t; using s = int64_t; };
template <> struct Bits<uint64_t> { using u = uint64_t; using s = int64_t; };

template <class A, class B> struct Same { static constexpr bool value = false; };
template <class A> struct Same<A, A> { static constexpr bool value = true; };
template <class A, class B> inline constexpr bool same = Same<A, B>::value;
template <class T> inline constexpr bool is_float = same<T, float> || same<T, double>;
template <class T> struct Decay { using type = T; };
template <class T> struct Decay<T&> { using type = T; };
template <class T> struct Plain { using type = T; };
template <class T> using plain_t = typename Plain<T>::type;  // a parameter of this type takes no part in deduction

}  // namespace dml

#if DML_GPU
// The neutral names of what CUDA and HIP spell differently. Lanes work together in groups of at most 32, also where a wave has 64.
namespace dml::gpu {
#if defined(__HIP__)
using Stream = hipStream_t;
inline int launch_status() { return int(hipGetLastError()); }
template <class T> DML_FN T shuffle_xor(T v, int mask, int width) { return __shfl_xor(v, mask, width); }
template <class T> DML_FN T shuffle(T v, int lane, int width) { return __shfl(v, lane, width); }
template <class T> DML_FN T shuffle_up(T v, int delta, int width) { return __shfl_up(v, delta, width); }
template <class T> DML_FN T shuffle_down(T v, int delta, int width) { return __shfl_down(v, delta, width); }
DML_FN float reciprocal(float x) { return __builtin_amdgcn_rcpf(x); }  // error of 1 ulp
DML_FN float max_nan(float a, float b) { return a != a ? a : a > b ? a : b; }  // NaN where either is
DML_FN float min_nan(float a, float b) { return a != a ? a : a < b ? a : b; }
DML_FN float float_from_f16(uint16_t bits) {
  _Float16 h;
  __builtin_memcpy(&h, &bits, 2);
  return float(h);
}
DML_FN uint16_t f16_from_float(float x) {
  const _Float16 h = _Float16(x);
  uint16_t bits;
  __builtin_memcpy(&bits, &h, 2);
  return bits;
}
DML_FN uint32_t bf16_from_float(float x) {  // rounds to nearest even
  uint32_t u;
  __builtin_memcpy(&u, &x, 4);
  return x != x ? (u >> 16) | 0x40u : (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
}
DML_FN uint32_t bf16_pair_from_float(float low, float high) { return bf16_from_float(low) | bf16_from_float(high) << 16; }
#else
using Stream = cudaStream_t;
inline int launch_status() { return int(cudaGetLastError()); }
template <class T> DML_FN T shuffle_xor(T v, int mask, int width) { return __shfl_xor_sync(0xffffffffu, v, mask, width); }
template <class T> DML_FN T shuffle(T v, int lane, int width) { return __shfl_sync(0xffffffffu, v, lane, width); }
template <class T> DML_FN T shuffle_up(T v, int delta, int width) { return __shfl_up_sync(0xffffffffu, v, delta, width); }
template <class T> DML_FN T shuffle_down(T v, int delta, int width) { return __shfl_down_sync(0xffffffffu, v, delta, width); }
DML_FN float reciprocal(float x) {  // error of 1 ulp
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}
DML_FN float max_nan(float a, float b) {  // NaN where either is
  float r;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
}
DML_FN float min_nan(float a, float b) {
  float r;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
}
DML_FN float float_from_f16(uint16_t bits) {
  float r;
  asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(bits));
  return r;
}
DML_FN uint16_t f16_from_float(float x) {
  uint16_t r;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"(x));
  return r;
}
DML_FN uint32_t bf16_pair_from_float(float low, float high) {  // both rounded to nearest even
  uint32_t r;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  return r;
}
#endif
// Statuses of launches that are not made, as both runtimes number an invalid configuration and a misaligned address.
inline constexpr int launch_too_large = 9, launch_misaligned = 716;
}  // namespace dml::gpu
#endif
