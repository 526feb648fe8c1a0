// Vec on CPUs: a value of N lanes is one SIMD register, or (too wide or too narrow for one) two halves, or (N == 1) a
// scalar. Every function is written once for the three cases, so each lane gets the same bits in all of them.
// A mask is a bit for each lane with AVX-512, otherwise 0 or -1 in lanes of 32 bits.
#pragma once
#include <utility>
#include "dinoml/port.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__) && defined(__AVX512DQ__)
#define DML_REGISTER 64
#elif defined(__AVX2__) && defined(__FMA__)
#define DML_REGISTER 32
#else
#define DML_REGISTER 16
#endif
#define DML_BITMASK (DML_REGISTER == 64)
#if defined(__has_builtin)
#define DML_HAS_SHUFFLE __has_builtin(__builtin_shufflevector)
#else
#define DML_HAS_SHUFFLE 0
#endif

namespace dml {

template <class T, int N> struct Vec;
template <class T> inline constexpr int native = DML_REGISTER / int(sizeof(T));

template <class T, int N> struct Simd { typedef T type __attribute__((vector_size(N * sizeof(T)))); };
template <class T, int N> using simd = typename Simd<T, N>::type;
template <class T, int N> inline constexpr bool in_register = N > 1 && N * sizeof(T) >= 16 && N * sizeof(T) <= DML_REGISTER;
template <class T, int N> inline constexpr bool in_halves = N > 1 && !in_register<T, N>;

template <class T, int N> struct Halves { Vec<T, N / 2> lo, hi; };
template <class T, int N, bool Register = in_register<T, N>> struct Held { using type = Halves<T, N>; };
template <class T, int N> struct Held<T, N, true> { using type = simd<T, N>; };
template <class T> struct Held<T, 1, false> { using type = T; };
template <class T, int N> using held = typename Held<T, N>::type;

template <class T, int N> struct Vec {
  static_assert((N & (N - 1)) == 0, "lanes: a power of two");
  held<T, N> v;
};
#if DML_BITMASK
template <int N> struct BitsFor { using type = uint8_t; };
template <> struct BitsFor<16> { using type = uint16_t; };
template <> struct BitsFor<32> { using type = uint32_t; };
template <> struct BitsFor<64> { using type = uint64_t; };
template <int N> struct Vec<bool, N> { typename BitsFor<N>::type v; };  // bits above N are zero
template <int N> inline constexpr typename BitsFor<N>::type all_bits = typename BitsFor<N>::type(~uint64_t(0) >> (64 - N));
#else
template <int N, bool Register = in_register<int32_t, N>> struct HeldMask { using type = Halves<bool, N>; };
template <int N> struct HeldMask<N, true> { using type = simd<int32_t, N>; };
template <> struct HeldMask<1, false> { using type = bool; };
template <int N> struct Vec<bool, N> { typename HeldMask<N>::type v; };
#endif
template <class T, int N> inline constexpr bool split = same<T, bool> ? !DML_BITMASK && in_halves<int32_t, N> : in_halves<T, N>;

// ------------------------------------------------------------------------------------------------ lanes and halves
template <int I, class T, int N> DML_FN T lane(Vec<T, N> a) {
  if constexpr (same<T, bool> && DML_BITMASK) return (a.v >> I) & 1;
  else if constexpr (N == 1) return a.v;
  else if constexpr (split<T, N>) {
    if constexpr (I < N / 2) return lane<I>(a.v.lo);
    else return lane<I - N / 2>(a.v.hi);
  } else if constexpr (same<T, bool>) return a.v[I] != 0;
  else return a.v[I];
}

template <class T, int N, int First, class Fn, int... I> DML_FN Vec<T, N> make_from(Fn& fn, std::integer_sequence<int, I...> lanes) {
  (void)lanes;
  if constexpr (same<T, bool> && DML_BITMASK) return {decltype(Vec<T, N>::v)((uint64_t(0) | ... | (uint64_t(bool(fn(First + I))) << I)))};
  else if constexpr (N == 1) return {T(fn(First))};
  else if constexpr (split<T, N>) {
    auto half = std::make_integer_sequence<int, N / 2>{};
    return {{make_from<T, N / 2, First>(fn, half), make_from<T, N / 2, First + N / 2>(fn, half)}};
  } else if constexpr (same<T, bool>) return {decltype(Vec<T, N>::v){-int32_t(bool(fn(First + I)))...}};
  else return {simd<T, N>{T(fn(First + I))...}};
}
// The vector whose lane i is fn(i); the compiler sees each i as a constant.
template <class T, int N, class Fn> DML_FN Vec<T, N> make(Fn fn) { return make_from<T, N, 0>(fn, std::make_integer_sequence<int, N>{}); }

template <int N, class T> DML_FN Vec<T, N> splat(T x) { return make<T, N>([&](int) DML_INLINE { return x; }); }

template <class T, int N> DML_FN void spread(Vec<T, N> a, T* to) {  // to[i] = lane i
  if constexpr (N == 1) *to = lane<0>(a);
  else if constexpr (split<T, N>) spread(a.v.lo, to), spread(a.v.hi, to + N / 2);
  else if constexpr (!same<T, bool>) __builtin_memcpy(to, &a.v, sizeof(a.v));
  else if constexpr (DML_BITMASK) { DML_UNROLL for (int i = 0; i < N; i++) to[i] = (uint64_t(a.v) >> i) & 1; }
  else { DML_UNROLL for (int i = 0; i < N; i++) to[i] = a.v[i] != 0; }
}
template <class T, int N> DML_FN T get(Vec<T, N> a, int i) {  // through memory: for tails and tests
  T all[N];
  spread(a, all);
  return all[i];
}

#if DML_HAS_SHUFFLE
template <class V, int... I> DML_FN auto shuffled(V a, V b, std::integer_sequence<int, I...>) { return __builtin_shufflevector(a, b, I...); }
template <int First, class V, int... I> DML_FN auto shuffled_from(V a, std::integer_sequence<int, I...>) { return __builtin_shufflevector(a, a, (First + I)...); }
#endif
template <int First, int M, class T, int N> DML_FN Vec<T, M> some(Vec<T, N> a) {  // M lanes of a register from First
#if DML_BITMASK
  if constexpr (same<T, bool>) return {decltype(Vec<bool, M>::v)((a.v >> First) & all_bits<M>)};
  else
#endif
  if constexpr (M == 1) return {lane<First>(a)};
  else if constexpr (split<T, M>) return {{some<First, M / 2>(a), some<First + M / 2, M / 2>(a)}};
#if DML_HAS_SHUFFLE
  else return {shuffled_from<First>(a.v, std::make_integer_sequence<int, M>{})};
#else
  else {
    Vec<T, M> r;
    __builtin_memcpy(&r.v, reinterpret_cast<const char*>(&a.v) + First * (sizeof(a.v) / N), sizeof(r.v));
    return r;
  }
#endif
}
template <class T, int N> DML_FN Vec<T, N / 2> low(Vec<T, N> a) {
  if constexpr (split<T, N>) return a.v.lo;
  else return some<0, N / 2>(a);
}
template <class T, int N> DML_FN Vec<T, N / 2> high(Vec<T, N> a) {
  if constexpr (split<T, N>) return a.v.hi;
  else return some<N / 2, N / 2>(a);
}
template <class T, int H> DML_FN Vec<T, 2 * H> join(Vec<T, H> a, Vec<T, H> b) {
  constexpr int N = 2 * H;
#if DML_BITMASK
  if constexpr (same<T, bool>) return {decltype(Vec<bool, N>::v)(a.v | (decltype(Vec<bool, N>::v)(b.v) << H))};
  else
#endif
  if constexpr (split<T, N>) return {{a, b}};
#if DML_HAS_SHUFFLE
  else if constexpr (H > 1 && !split<T, H>) return {shuffled(a.v, b.v, std::make_integer_sequence<int, N>{})};
#endif
  else {
    T all[N];
    DML_UNROLL for (int i = 0; i < H; i++) all[i] = get(a, i), all[i + H] = get(b, i);
    return make<T, N>([&](int i) DML_INLINE { return all[i]; });
  }
}

// ------------------------------------------------------------------------------------------------ operators
template <class T, int N> using bits_of = held<typename Bits<T>::u, N>;

// Integers go through unsigned, where overflow wraps.
#define DML_ARITHMETIC(op)                                                                                          \
  template <class T, int N> DML_FN Vec<T, N> operator op(Vec<T, N> a, Vec<T, N> b) {                                \
    static_assert(!same<T, bool>, "masks have & | ^ ~ only");                                                       \
    if constexpr (split<T, N>) return {{a.v.lo op b.v.lo, a.v.hi op b.v.hi}};                                       \
    else if constexpr (is_float<T>) return {a.v op b.v};                                                            \
    else return {held<T, N>((bits_of<T, N>)a.v op (bits_of<T, N>)b.v)};                                             \
  }
DML_ARITHMETIC(+)
DML_ARITHMETIC(-)
DML_ARITHMETIC(*)
#undef DML_ARITHMETIC
template <class T, int N> DML_FN Vec<T, N> operator/(Vec<T, N> a, Vec<T, N> b) {
  static_assert(is_float<T>, "integers have floor_div and mod");
  if constexpr (split<T, N>) return {{a.v.lo / b.v.lo, a.v.hi / b.v.hi}};
  else return {a.v / b.v};
}
template <class T, int N> DML_FN Vec<T, N> operator-(Vec<T, N> a) {
  if constexpr (split<T, N>) return {{-a.v.lo, -a.v.hi}};
  else if constexpr (is_float<T>) return {-a.v};
  else return {held<T, N>(-(bits_of<T, N>)a.v)};
}
#define DML_BITWISE(op)                                                                                             \
  template <class T, int N> DML_FN Vec<T, N> operator op(Vec<T, N> a, Vec<T, N> b) {                                \
    static_assert(!is_float<T>, "integers and masks");                                                              \
    if constexpr (split<T, N>) return {{a.v.lo op b.v.lo, a.v.hi op b.v.hi}};                                       \
    else return {decltype(a.v)(a.v op b.v)};                                                                        \
  }
DML_BITWISE(&)
DML_BITWISE(|)
DML_BITWISE(^)
#undef DML_BITWISE
template <class T, int N> DML_FN Vec<T, N> operator~(Vec<T, N> a) {
  static_assert(!is_float<T>, "integers and masks");
  if constexpr (split<T, N>) return {{~a.v.lo, ~a.v.hi}};
#if DML_BITMASK
  else if constexpr (same<T, bool>) return {decltype(a.v)(~a.v & all_bits<N>)};
#endif
  else if constexpr (same<T, bool> && N == 1) return {!a.v};
  else return {~a.v};
}

#if DML_BITMASK
template <int F, int I, class T, class V> DML_FN uint64_t compared(V a, V b) {  // F, I: the predicate for floats and for integers
  constexpr int size = sizeof(V);
  if constexpr (same<T, float>) {
    if constexpr (size == 64) return _mm512_cmp_ps_mask((__m512)a, (__m512)b, F);
    else if constexpr (size == 32) return _mm256_cmp_ps_mask((__m256)a, (__m256)b, F);
    else return _mm_cmp_ps_mask((__m128)a, (__m128)b, F);
  } else if constexpr (same<T, double>) {
    if constexpr (size == 64) return _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, F);
    else if constexpr (size == 32) return _mm256_cmp_pd_mask((__m256d)a, (__m256d)b, F);
    else return _mm_cmp_pd_mask((__m128d)a, (__m128d)b, F);
  } else if constexpr (sizeof(T) == 4) {
    if constexpr (size == 64) return _mm512_cmp_epi32_mask((__m512i)a, (__m512i)b, I);
    else if constexpr (size == 32) return _mm256_cmp_epi32_mask((__m256i)a, (__m256i)b, I);
    else return _mm_cmp_epi32_mask((__m128i)a, (__m128i)b, I);
  } else {
    if constexpr (size == 64) return _mm512_cmp_epi64_mask((__m512i)a, (__m512i)b, I);
    else if constexpr (size == 32) return _mm256_cmp_epi64_mask((__m256i)a, (__m256i)b, I);
    else return _mm_cmp_epi64_mask((__m128i)a, (__m128i)b, I);
  }
}
#define DML_COMPARED(op, F, I)                                                                                      \
  if constexpr (N == 1) return {decltype(Vec<bool, N>::v)(a.v op b.v)};                                             \
  else return {decltype(Vec<bool, N>::v)(compared<F, I, T>(a.v, b.v))};
#else
template <int N, class V> DML_FN Vec<bool, N> mask_from(V m) {  // lanes of 0 or -1, as wide as what was compared
  if constexpr (N == 1) return {bool(m)};
  else if constexpr (split<bool, N>) return make<bool, N>([&](int i) DML_INLINE { return m[i] != 0; });
  else if constexpr (sizeof(m) == 4 * N) return {m};
  else return {__builtin_convertvector(m, simd<int32_t, N>)};
}
#define DML_COMPARED(op, F, I) return mask_from<N>(a.v op b.v);
#endif
#define DML_COMPARE(op, F, I)                                                                                       \
  template <class T, int N> DML_FN Vec<bool, N> operator op(Vec<T, N> a, Vec<T, N> b) {                             \
    if constexpr (split<T, N>) return join(low(a) op low(b), high(a) op high(b));                                   \
    else { DML_COMPARED(op, F, I) }                                                                                 \
  }
DML_COMPARE(<, _CMP_LT_OQ, _MM_CMPINT_LT)
DML_COMPARE(<=, _CMP_LE_OQ, _MM_CMPINT_LE)
DML_COMPARE(>, _CMP_GT_OQ, _MM_CMPINT_NLE)
DML_COMPARE(>=, _CMP_GE_OQ, _MM_CMPINT_NLT)
DML_COMPARE(==, _CMP_EQ_OQ, _MM_CMPINT_EQ)
DML_COMPARE(!=, _CMP_NEQ_UQ, _MM_CMPINT_NE)
#undef DML_COMPARE
#undef DML_COMPARED
template <int N> DML_FN Vec<bool, N> operator!=(Vec<bool, N> a, Vec<bool, N> b) { return a ^ b; }
template <int N> DML_FN Vec<bool, N> operator==(Vec<bool, N> a, Vec<bool, N> b) { return ~(a ^ b); }
template <int N> DML_FN Vec<bool, N> operator<(Vec<bool, N> a, Vec<bool, N> b) { return ~a & b; }
template <int N> DML_FN Vec<bool, N> operator<=(Vec<bool, N> a, Vec<bool, N> b) { return ~a | b; }
template <int N> DML_FN Vec<bool, N> operator>(Vec<bool, N> a, Vec<bool, N> b) { return b < a; }
template <int N> DML_FN Vec<bool, N> operator>=(Vec<bool, N> a, Vec<bool, N> b) { return b <= a; }

// ------------------------------------------------------------------------------------------------ choice
template <int N> DML_FN Vec<bool, N> select(Vec<bool, N> m, Vec<bool, N> a, Vec<bool, N> b) { return (m & a) | (~m & b); }
template <class T, int N> DML_FN Vec<T, N> select(Vec<bool, N> m, Vec<T, N> a, Vec<T, N> b) {
  if constexpr (split<T, N>) return {{select(low(m), a.v.lo, b.v.lo), select(high(m), a.v.hi, b.v.hi)}};
  else if constexpr (N == 1) return {m.v ? a.v : b.v};
#if DML_BITMASK
  else if constexpr (sizeof(a.v) == 64 && sizeof(T) == 4) return {(simd<T, N>)_mm512_mask_blend_epi32(m.v, (__m512i)b.v, (__m512i)a.v)};
  else if constexpr (sizeof(a.v) == 64) return {(simd<T, N>)_mm512_mask_blend_epi64(m.v, (__m512i)b.v, (__m512i)a.v)};
  else if constexpr (sizeof(a.v) == 32 && sizeof(T) == 4) return {(simd<T, N>)_mm256_mask_blend_epi32(m.v, (__m256i)b.v, (__m256i)a.v)};
  else if constexpr (sizeof(a.v) == 32) return {(simd<T, N>)_mm256_mask_blend_epi64(m.v, (__m256i)b.v, (__m256i)a.v)};
  else if constexpr (sizeof(T) == 4) return {(simd<T, N>)_mm_mask_blend_epi32(m.v, (__m128i)b.v, (__m128i)a.v)};
  else return {(simd<T, N>)_mm_mask_blend_epi64(m.v, (__m128i)b.v, (__m128i)a.v)};
#else
  else if constexpr (sizeof(T) == 4) return {m.v ? a.v : b.v};
  else if constexpr (split<bool, N>) return {make<int64_t, N>([&](int i) DML_INLINE { return -int64_t(get(m, i)); }).v ? a.v : b.v};
  else return {__builtin_convertvector(m.v, simd<int64_t, N>) ? a.v : b.v};
#endif
}
// Lanes before n.
template <int N> DML_FN Vec<bool, N> first(int n) {
#if DML_BITMASK
  return {decltype(Vec<bool, N>::v)(n >= 64 ? ~uint64_t(0) : (uint64_t(1) << n) - 1)};
#else
  return make<int32_t, N>([](int i) DML_INLINE { return i; }) < splat<N>(int32_t(n));
#endif
}

// Registers of another type with the same bits.
template <class T, class S, int N> DML_FN Vec<T, N> bitcast(Vec<S, N> a) {
  static_assert(sizeof(T) == sizeof(S), "same size");
  if constexpr (split<S, N>) return {{bitcast<T>(a.v.lo), bitcast<T>(a.v.hi)}};
  else {
    Vec<T, N> r;
    __builtin_memcpy(&r.v, &a.v, sizeof(r.v));
    return r;
  }
}

template <class T, class S, int N> DML_FN Vec<T, N> cast(Vec<S, N> a) {
  if constexpr (same<T, S>) return a;
  else if constexpr (same<T, bool>) return a != splat<N>(S(0));
  else if constexpr (same<S, bool>) return select(a, splat<N>(T(1)), splat<N>(T(0)));
  else if constexpr (split<T, N> || split<S, N>) return join(cast<T>(low(a)), cast<T>(high(a)));
  else if constexpr (is_float<S> && !is_float<T>) {
    constexpr T most = T(~typename Bits<T>::u(0) >> 1), least = -most - 1;
    const Vec<S, N> from = splat<N>(S(least)), past = -from;  // S(least) is exact
    const Vec<S, N> inside = select((a >= from) & (a < past), a, splat<N>(S(0)));
    Vec<T, N> r;
    if constexpr (N == 1) r = {T(inside.v)};
    else r = {__builtin_convertvector(inside.v, held<T, N>)};
    return select(a >= past, splat<N>(most), select(a < from, splat<N>(least), r));
  } else if constexpr (N == 1) return {T(a.v)};
  else return {__builtin_convertvector(a.v, held<T, N>)};
}

// ------------------------------------------------------------------------------------------------ what GCC would not find
// a > b ? a : b as one instruction (GCC makes a compare and a blend of it). NOTE: the _maskz_ forms with a full mask give
// the plain instruction; the plain intrinsics of GCC 12 warn of an uninitialised value in its own header.
#if DML_REGISTER == 64
#define DML_PICK(op, name)                                                                                          \
  else if constexpr (same<T, float> && sizeof(a.v) == 64) return {(simd<T, N>)_mm512_maskz_##name##_ps(0xffff, (__m512)a.v, (__m512)b.v)}; \
  else if constexpr (same<T, double> && sizeof(a.v) == 64) return {(simd<T, N>)_mm512_maskz_##name##_pd(0xff, (__m512d)a.v, (__m512d)b.v)}; \
  DML_PICK_256(op, name)
#else
#define DML_PICK(op, name) DML_PICK_256(op, name)
#endif
#if DML_REGISTER >= 32
#define DML_PICK_256(op, name)                                                                                      \
  else if constexpr (same<T, float> && sizeof(a.v) == 32) return {(simd<T, N>)_mm256_##name##_ps((__m256)a.v, (__m256)b.v)}; \
  else if constexpr (same<T, double> && sizeof(a.v) == 32) return {(simd<T, N>)_mm256_##name##_pd((__m256d)a.v, (__m256d)b.v)}; \
  DML_PICK_128(op, name)
#else
#define DML_PICK_256(op, name) DML_PICK_128(op, name)
#endif
#if defined(__SSE2__)
#define DML_PICK_128(op, name)                                                                                      \
  else if constexpr (same<T, float> && sizeof(a.v) == 16) return {(simd<T, N>)_mm_##name##_ps((__m128)a.v, (__m128)b.v)}; \
  else if constexpr (same<T, double> && sizeof(a.v) == 16) return {(simd<T, N>)_mm_##name##_pd((__m128d)a.v, (__m128d)b.v)};
#else
#define DML_PICK_128(op, name)
#endif
#define DML_PICKED(function, op, name)                                                                              \
  template <class T, int N> DML_FN Vec<T, N> function(Vec<T, N> a, Vec<T, N> b) {                                   \
    if constexpr (split<T, N>) return {{function(a.v.lo, b.v.lo), function(a.v.hi, b.v.hi)}};                       \
    DML_PICK(op, name)                                                                                              \
    else return {a.v op b.v ? a.v : b.v};                                                                           \
  }
DML_PICKED(pick_larger, >, max)
DML_PICKED(pick_smaller, <, min)
#undef DML_PICK
#undef DML_PICK_256
#undef DML_PICK_128
#undef DML_PICKED

template <int N> DML_FN bool any_lane(Vec<bool, N> a) {
#if DML_BITMASK
  return a.v != 0;
#else
  if constexpr (N == 1) return a.v;
  else if constexpr (split<bool, N>) return any_lane(a.v.lo | a.v.hi);
#if defined(__AVX2__)
  else if constexpr (sizeof(a.v) == 32) return _mm256_movemask_ps((__m256)a.v) != 0;
#endif
#if defined(__SSE2__)
  else if constexpr (sizeof(a.v) == 16) return _mm_movemask_ps((__m128)a.v) != 0;
#endif
  else return any_lane(low(a) | high(a));
#endif
}

// By a constant below the width of T; right: zeros come in.
template <class T, int N> DML_FN Vec<T, N> shift_bits_left(Vec<T, N> a, int by) {
  if constexpr (split<T, N>) return {{shift_bits_left(a.v.lo, by), shift_bits_left(a.v.hi, by)}};
  else return {held<T, N>((bits_of<T, N>)a.v << by)};
}
template <class T, int N> DML_FN Vec<T, N> shift_bits_right(Vec<T, N> a, int by) {
  if constexpr (split<T, N>) return {{shift_bits_right(a.v.lo, by), shift_bits_right(a.v.hi, by)}};
  else return {held<T, N>((bits_of<T, N>)a.v >> by)};
}
template <int N> DML_FN Vec<int32_t, N> shift_sign_right(Vec<int32_t, N> a, int by) {  // the sign comes in
  if constexpr (split<int32_t, N>) return {{shift_sign_right(a.v.lo, by), shift_sign_right(a.v.hi, by)}};
  else return {a.v >> by};
}

}  // namespace dml
