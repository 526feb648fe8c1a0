// What math.h needs of a CPU: the instructions that GCC does not find by itself, and functions called lane by lane.
#pragma once
#include "dinoml/vec.h"

namespace dml {

template <class T, int N, class Fn> DML_FN Vec<T, N> per_lane(Fn fn, Vec<T, N> a) {
  if constexpr (N == 1) return make<T, 1>([&](int) DML_INLINE { return fn(lane<0>(a)); });
  else {
    T x[N];
    spread(a, x);
    for (int i = 0; i < N; i++) x[i] = fn(x[i]);
    return make<T, N>([&](int i) DML_INLINE { return x[i]; });
  }
}
template <class T, int N, class Fn> DML_FN Vec<T, N> per_lane(Fn fn, Vec<T, N> a, Vec<T, N> b) {
  T x[N], y[N];
  spread(a, x), spread(b, y);
  for (int i = 0; i < N; i++) x[i] = fn(x[i], y[i]);
  return make<T, N>([&](int i) DML_INLINE { return x[i]; });
}

#if DML_REGISTER == 64
#define DML_512(...) __VA_ARGS__
#else
#define DML_512(...)
#endif
#if DML_REGISTER >= 32
#define DML_256(...) __VA_ARGS__
#else
#define DML_256(...)
#endif
#if defined(__FMA__)
inline constexpr bool fast_fma = true;
#define DML_FMA_128(...) __VA_ARGS__
#else
inline constexpr bool fast_fma = false;
#define DML_FMA_128(...)
#endif
#if defined(__SSE4_1__)
inline constexpr bool fast_round = true;
#define DML_ROUND_128(...) __VA_ARGS__
#else
inline constexpr bool fast_round = false;
#define DML_ROUND_128(...)
#endif
#if defined(__SSE2__)
#define DML_128(...) __VA_ARGS__
#else
#define DML_128(...)
#endif

// a * b + c, rounded once.
template <class T, int N> DML_FN Vec<T, N> fma(Vec<T, N> a, Vec<T, N> b, Vec<T, N> c) {
  static_assert(is_float<T>, "floats");
  constexpr int size = sizeof(T) * N;
  (void)size;
  if constexpr (split<T, N>) return {{fma(a.v.lo, b.v.lo, c.v.lo), fma(a.v.hi, b.v.hi, c.v.hi)}};
  else if constexpr (N == 1 && sizeof(T) == 4) return {__builtin_fmaf(a.v, b.v, c.v)};
  else if constexpr (N == 1) return {__builtin_fma(a.v, b.v, c.v)};
#define DML_FMA(bytes, prefix, F, D)                                                                                \
  else if constexpr (size == bytes && sizeof(T) == 4) return {(simd<T, N>)prefix##_fmadd_ps((F)a.v, (F)b.v, (F)c.v)}; \
  else if constexpr (size == bytes) return {(simd<T, N>)prefix##_fmadd_pd((D)a.v, (D)b.v, (D)c.v)};
  DML_512(DML_FMA(64, _mm512, __m512, __m512d))
  DML_256(DML_FMA(32, _mm256, __m256, __m256d))
  DML_FMA_128(DML_FMA(16, _mm, __m128, __m128d))
#undef DML_FMA
  else {
    T x[N], y[N], z[N];
    spread(a, x), spread(b, y), spread(c, z);
    for (int i = 0; i < N; i++) x[i] = sizeof(T) == 4 ? T(__builtin_fmaf(x[i], y[i], z[i])) : T(__builtin_fma(x[i], y[i], z[i]));
    return make<T, N>([&](int i) DML_INLINE { return x[i]; });
  }
}
// a * b + c as the target does it fastest: for approximations, whose error bounds hold either way.
template <class T, int N> DML_FN Vec<T, N> madd(Vec<T, N> a, Vec<T, N> b, Vec<T, N> c) {
  if constexpr (fast_fma) return fma(a, b, c);
  else return a * b + c;
}
template <class T, int N> DML_FN Vec<T, N> madd(Vec<T, N> a, Vec<T, N> b, plain_t<T> c) { return madd(a, b, splat<N>(c)); }
template <class T, int N> DML_FN Vec<T, N> madd(Vec<T, N> a, plain_t<T> b, Vec<T, N> c) { return madd(a, splat<N>(b), c); }

template <class T, int N> DML_FN Vec<T, N> sqrt(Vec<T, N> a) {
  constexpr int size = sizeof(T) * N;
  (void)size;
  if constexpr (split<T, N>) return {{sqrt(a.v.lo), sqrt(a.v.hi)}};
  else if constexpr (N == 1 && sizeof(T) == 4) return {__builtin_sqrtf(a.v)};
  else if constexpr (N == 1) return {__builtin_sqrt(a.v)};
  DML_512(else if constexpr (size == 64 && sizeof(T) == 4) return {(simd<T, N>)_mm512_maskz_sqrt_ps(0xffff, (__m512)a.v)};
          else if constexpr (size == 64) return {(simd<T, N>)_mm512_maskz_sqrt_pd(0xff, (__m512d)a.v)};)
  DML_256(else if constexpr (size == 32 && sizeof(T) == 4) return {(simd<T, N>)_mm256_sqrt_ps((__m256)a.v)};
          else if constexpr (size == 32) return {(simd<T, N>)_mm256_sqrt_pd((__m256d)a.v)};)
  DML_128(else if constexpr (size == 16 && sizeof(T) == 4) return {(simd<T, N>)_mm_sqrt_ps((__m128)a.v)};
          else if constexpr (size == 16) return {(simd<T, N>)_mm_sqrt_pd((__m128d)a.v)};)
  else return per_lane([](T x) { return sizeof(T) == 4 ? T(__builtin_sqrtf(x)) : T(__builtin_sqrt(x)); }, a);
}

// ------------------------------------------------------------------------------------------------ rounding
enum class Rounding { nearest = 0, down = 1, up = 2, zero = 3 };  // as the instructions number them

template <Rounding M, class T> DML_FN T round_scalar(T x) {
  if constexpr (sizeof(T) == 4) {
    if constexpr (M == Rounding::nearest) return __builtin_rintf(x);
    else if constexpr (M == Rounding::down) return __builtin_floorf(x);
    else if constexpr (M == Rounding::up) return __builtin_ceilf(x);
    else return __builtin_truncf(x);
  } else {
    if constexpr (M == Rounding::nearest) return __builtin_rint(x);
    else if constexpr (M == Rounding::down) return __builtin_floor(x);
    else if constexpr (M == Rounding::up) return __builtin_ceil(x);
    else return __builtin_trunc(x);
  }
}
template <Rounding M, class T, int N> DML_FN Vec<T, N> rounded(Vec<T, N> a) {
  constexpr int size = sizeof(T) * N, mode = int(M) | 8;  // 8: no inexact exception
  (void)size, (void)mode;
  if constexpr (split<T, N>) return {{rounded<M>(a.v.lo), rounded<M>(a.v.hi)}};
  else if constexpr (N == 1) return {round_scalar<M>(a.v)};
  DML_512(else if constexpr (size == 64 && sizeof(T) == 4) return {(simd<T, N>)_mm512_maskz_roundscale_ps(0xffff, (__m512)a.v, mode)};
          else if constexpr (size == 64) return {(simd<T, N>)_mm512_maskz_roundscale_pd(0xff, (__m512d)a.v, mode)};)
  DML_256(else if constexpr (size == 32 && sizeof(T) == 4) return {(simd<T, N>)_mm256_round_ps((__m256)a.v, mode)};
          else if constexpr (size == 32) return {(simd<T, N>)_mm256_round_pd((__m256d)a.v, mode)};)
  DML_ROUND_128(else if constexpr (size == 16 && sizeof(T) == 4) return {(simd<T, N>)_mm_round_ps((__m128)a.v, mode)};
                else if constexpr (size == 16) return {(simd<T, N>)_mm_round_pd((__m128d)a.v, mode)};)
  else if constexpr (sizeof(T) == 4) {  // below 2^23 by way of the integers, above nothing is to be done
    const Vec<T, N> size_of = bitcast<T>(bitcast<int32_t>(a) & splat<N>(0x7fffffff));
    Vec<T, N> r;
    if constexpr (M == Rounding::nearest) r = (size_of + splat<N>(0x1p23f)) - splat<N>(0x1p23f);
    else {
      r = cast<T>(cast<int32_t>(a));
      if constexpr (M == Rounding::down) r = r - select(r > a, splat<N>(T(1)), splat<N>(T(0)));
      if constexpr (M == Rounding::up) r = r + select(r < a, splat<N>(T(1)), splat<N>(T(0)));
    }
    r = bitcast<T>((bitcast<int32_t>(r) & splat<N>(0x7fffffff)) | (bitcast<int32_t>(a) & splat<N>(int32_t(0x80000000))));
    return select(size_of < splat<N>(0x1p23f), r, a);
  } else return per_lane([](T x) { return round_scalar<M>(x); }, a);
}
template <class T, int N> DML_FN Vec<T, N> floor(Vec<T, N> a) { return rounded<Rounding::down>(a); }
template <class T, int N> DML_FN Vec<T, N> ceil(Vec<T, N> a) { return rounded<Rounding::up>(a); }
template <class T, int N> DML_FN Vec<T, N> trunc(Vec<T, N> a) { return rounded<Rounding::zero>(a); }
template <class T, int N> DML_FN Vec<T, N> rint(Vec<T, N> a) { return rounded<Rounding::nearest>(a); }

// p * 2^n for an n that holds an integer in [-160, 140] and 0.5 < |p| < 2, with one rounding.
template <int N> DML_FN Vec<float, N> scaled(Vec<float, N> p, Vec<float, N> n, Vec<int32_t, N> whole) {
  if constexpr (split<float, N>) return {{scaled(p.v.lo, n.v.lo, whole.v.lo), scaled(p.v.hi, n.v.hi, whole.v.hi)}};
  DML_512(else if constexpr (N == 16) return {(simd<float, N>)_mm512_maskz_scalef_ps(0xffff, (__m512)p.v, (__m512)n.v)};
          else if constexpr (N == 8) return {(simd<float, N>)_mm256_maskz_scalef_ps(0xff, (__m256)p.v, (__m256)n.v)};)
  else {  // half of the power cannot overflow or lose bits; the second multiplication rounds
    const Vec<int32_t, N> half = shift_bits_right(whole + splat<N>(512), 1) - splat<N>(256), rest = whole - half;
    return p * bitcast<float>(shift_bits_left(half + splat<N>(127), 23)) * bitcast<float>(shift_bits_left(rest + splat<N>(127), 23));
  }
}

#undef DML_512
#undef DML_256
#undef DML_128
#undef DML_FMA_128
#undef DML_ROUND_128

// ------------------------------------------------------------------------------------------------ lane by lane
#define DML_LIBM(name)                                                                                              \
  template <int N> DML_FN Vec<double, N> name(Vec<double, N> a) { return per_lane([](double x) { return __builtin_##name(x); }, a); }
DML_LIBM(exp)
DML_LIBM(expm1)
DML_LIBM(log)
DML_LIBM(log1p)
DML_LIBM(log2)
DML_LIBM(tanh)
DML_LIBM(erf)
DML_LIBM(sin)
DML_LIBM(cos)
#undef DML_LIBM
template <int N> DML_FN Vec<double, N> pow(Vec<double, N> a, Vec<double, N> b) {
  return per_lane([](double x, double y) { return __builtin_pow(x, y); }, a, b);
}
// By way of doubles: while the quotient stays below 2^28, its truncation and the difference are exact.
template <class T, int N> DML_FN Vec<T, N> fmod_float(Vec<T, N> a, Vec<T, N> b) {
  if constexpr (sizeof(T) == 4) {
    const Vec<double, N> x = cast<double>(a), y = cast<double>(b), q = trunc(x / y);
    const Vec<bool, N> exact = (q < splat<N>(0x1p28)) & (q > splat<N>(-0x1p28)) & (y - y == splat<N>(0.));  // y - y: finite
    if (__builtin_expect(hall(exact), 1)) {
      const Vec<T, N> r = cast<T>(x - q * y), sign = bitcast<T>(bitcast<int32_t>(a) & splat<N>(int32_t(0x80000000)));
      return select(r == splat<N>(T(0)), sign, r);
    }
    return per_lane([](T s, T t) { return T(__builtin_fmodf(s, t)); }, a, b);
  } else return per_lane([](T s, T t) { return T(__builtin_fmod(s, t)); }, a, b);
}
// Integer quotients, rounded down or towards zero; x / 0 is 0.
template <bool Down, class T, int N> DML_FN Vec<T, N> divided(Vec<T, N> a, Vec<T, N> b) {
  if constexpr (sizeof(T) == 4 && N > 1) {  // exact in double
    const Vec<double, N> q = cast<double>(a) / cast<double>(b);
    const Vec<T, N> r = cast<T>(Down ? floor(q) : trunc(q));
    return select(b == splat<N>(T(0)), splat<N>(T(0)), select(b == splat<N>(T(-1)), -a, r));
  } else return per_lane([](T x, T y) {
    if (y == 0) return T(0);
    if (y == -1) return T(-typename Bits<T>::u(x));
    const T q = x / y;
    return T(Down && q * y != x && (x < 0) != (y < 0) ? q - 1 : q);
  }, a, b);
}
// A count that is negative or past the width moves every bit out, as NumPy does.
template <class T, int N> DML_FN Vec<T, N> shift_left(Vec<T, N> a, Vec<T, N> by) {
  constexpr T width = 8 * sizeof(T);
  if constexpr (split<T, N>) return {{shift_left(a.v.lo, by.v.lo), shift_left(a.v.hi, by.v.hi)}};
  else {
    const Vec<bool, N> inside = (by >= splat<N>(T(0))) & (by < splat<N>(width));
    const Vec<T, N> count = select(inside, by, splat<N>(T(0)));
    return select(inside, Vec<T, N>{held<T, N>((bits_of<T, N>)a.v << (bits_of<T, N>)count.v)}, splat<N>(T(0)));
  }
}
template <class T, int N> DML_FN Vec<T, N> shift_right(Vec<T, N> a, Vec<T, N> by) {
  constexpr T width = 8 * sizeof(T);
  if constexpr (split<T, N>) return {{shift_right(a.v.lo, by.v.lo), shift_right(a.v.hi, by.v.hi)}};
  else {
    const Vec<bool, N> inside = (by >= splat<N>(T(0))) & (by < splat<N>(width));
    return {a.v >> select(inside, by, splat<N>(T(width - 1))).v};
  }
}

}  // namespace dml
