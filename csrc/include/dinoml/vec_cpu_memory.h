// Memory on CPUs: Raw<S, N> holds elements as they are stored. Part never touches memory past its lanes (masked
// instructions with AVX-512, element by element otherwise).
#pragma once
#include "dinoml/vec_cpu.h"

namespace dml {

// Elements narrower than 4 bytes are split exactly as the float vector of their lanes, so that conversion goes piece by piece.
template <class S> struct Stored { using type = S; };
template <> struct Stored<bf16> { using type = uint16_t; };
template <> struct Stored<f16> { using type = uint16_t; };
template <> struct Stored<b8> { using type = uint8_t; };
template <class S> using stored_t = typename Stored<S>::type;
template <class S, int N> inline constexpr bool raw_split = in_halves<int32_t, N>;
template <int N> inline constexpr bool raw_split<double, N> = in_halves<double, N>;
template <int N> inline constexpr bool raw_split<int64_t, N> = in_halves<double, N>;

template <class S, int N> struct Raw;
template <class S, int N> struct RawHalves { Raw<S, N / 2> lo, hi; };
template <class S, int N, bool Split = raw_split<S, N>> struct HeldRaw { using type = simd<stored_t<S>, N>; };
template <class S, int N> struct HeldRaw<S, N, true> { using type = RawHalves<S, N>; };
template <class S> struct HeldRaw<S, 1, false> { using type = stored_t<S>; };
template <class S, int N> struct Raw { typename HeldRaw<S, N>::type v; };

template <class S> DML_FN stored_t<S> stored(S x) {
  stored_t<S> r;
  __builtin_memcpy(&r, &x, sizeof(r));
  return r;
}
template <class S, int N, int First, class Fn, int... I> DML_FN Raw<S, N> make_raw_from(Fn& fn, std::integer_sequence<int, I...>) {
  if constexpr (N == 1) return {stored(S(fn(First)))};
  else if constexpr (raw_split<S, N>) {
    auto half = std::make_integer_sequence<int, N / 2>{};
    return {{make_raw_from<S, N / 2, First>(fn, half), make_raw_from<S, N / 2, First + N / 2>(fn, half)}};
  } else return {simd<stored_t<S>, N>{stored(S(fn(First + I)))...}};
}
template <class S, int N, class Fn> DML_FN Raw<S, N> make_raw(Fn fn) { return make_raw_from<S, N, 0>(fn, std::make_integer_sequence<int, N>{}); }

template <class S, int N> DML_FN void spread(Raw<S, N> a, S* to) {
  if constexpr (raw_split<S, N>) spread(a.v.lo, to), spread(a.v.hi, to + N / 2);
  else __builtin_memcpy(to, &a.v, sizeof(a.v));
}

template <int N> DML_FN Part<N / 2> low(Part<N> l) { return {l.n < N / 2 ? l.n : N / 2}; }
template <int N> DML_FN Part<N / 2> high(Part<N> l) { return {l.n > N / 2 ? l.n - N / 2 : 0}; }

#if DML_BITMASK
template <class S, class V> DML_FN V load_masked(uint64_t m, const S* p) {
  V r;
  constexpr int size = sizeof(V);
#define DML_MASKED(bits)                                                                                            \
  if constexpr (size == 64) { auto x = _mm512_maskz_loadu_epi##bits(m, p); __builtin_memcpy(&r, &x, 64); }          \
  else if constexpr (size == 32) { auto x = _mm256_maskz_loadu_epi##bits(m, p); __builtin_memcpy(&r, &x, 32); }     \
  else { auto x = _mm_maskz_loadu_epi##bits(m, p); __builtin_memcpy(&r, &x, size); }
  if constexpr (sizeof(S) == 8) { DML_MASKED(64) }
  else if constexpr (sizeof(S) == 4) { DML_MASKED(32) }
  else if constexpr (sizeof(S) == 2) { DML_MASKED(16) }
  else { DML_MASKED(8) }
#undef DML_MASKED
  return r;
}
template <class S, class V> DML_FN void store_masked(uint64_t m, S* p, V v) {
  constexpr int size = sizeof(V);
#define DML_MASKED(bits)                                                                                            \
  if constexpr (size == 64) _mm512_mask_storeu_epi##bits(p, m, (__m512i)v);                                         \
  else if constexpr (size == 32) _mm256_mask_storeu_epi##bits(p, m, (__m256i)v);                                    \
  else { __m128i x{}; __builtin_memcpy(&x, &v, size); _mm_mask_storeu_epi##bits(p, m, x); }
  if constexpr (sizeof(S) == 8) { DML_MASKED(64) }
  else if constexpr (sizeof(S) == 4) { DML_MASKED(32) }
  else if constexpr (sizeof(S) == 2) { DML_MASKED(16) }
  else { DML_MASKED(8) }
#undef DML_MASKED
}
#endif

template <class S, int N> DML_FN Raw<S, N> load(Full<N>, const S* p) {
  Raw<S, N> r;
  if constexpr (raw_split<S, N>) r = {{load(Full<N / 2>{}, p), load(Full<N / 2>{}, p + N / 2)}};
  else __builtin_memcpy(&r.v, p, sizeof(r.v));
  return r;
}
template <class S, int N> DML_FN Raw<S, N> load(Part<N> l, const S* p) {
  if constexpr (raw_split<S, N>) return {{load(low(l), p), load(high(l), p + N / 2)}};
  else if constexpr (N == 1) return {l.n > 0 ? stored(*p) : stored_t<S>(0)};
#if DML_BITMASK
  else return {load_masked<S, decltype(Raw<S, N>::v)>((uint64_t(1) << l.n) - 1, p)};
#else
  else {
    Raw<S, N> r{};
    __builtin_memcpy(&r.v, p, l.n * sizeof(S));
    return r;
  }
#endif
}
template <class S, int N> DML_FN void store(Full<N>, S* p, Raw<S, N> r) {
  if constexpr (raw_split<S, N>) store(Full<N / 2>{}, p, r.v.lo), store(Full<N / 2>{}, p + N / 2, r.v.hi);
  else __builtin_memcpy(static_cast<void*>(p), &r.v, sizeof(r.v));
}
template <class S, int N> DML_FN void store(Part<N> l, S* p, Raw<S, N> r) {
  if constexpr (raw_split<S, N>) store(low(l), p, r.v.lo), store(high(l), p + N / 2, r.v.hi);
  else if constexpr (N == 1) { if (l.n > 0) store(Full<1>{}, p, r); }
#if DML_BITMASK
  else store_masked((uint64_t(1) << l.n) - 1, p, r.v);
#else
  else __builtin_memcpy(static_cast<void*>(p), &r.v, l.n * sizeof(S));
#endif
}
// Past the caches where the register is as wide as a target's widest and p is aligned to it; otherwise a plain store.
template <class L, class S, int N> DML_FN void store_stream(L l, S* p, Raw<S, N> r) {
#if defined(__SSE2__)
  if constexpr (same<L, Full<N>> && N > 1) {
    if constexpr (raw_split<S, N>) {
      store_stream(Full<N / 2>{}, p, r.v.lo), store_stream(Full<N / 2>{}, p + N / 2, r.v.hi);
      return;
    } else if constexpr (sizeof(r.v) >= 16) {
      if (reinterpret_cast<uintptr_t>(p) % sizeof(r.v) == 0) {
#if defined(__AVX512F__)
        if constexpr (sizeof(r.v) == 64) _mm512_stream_si512(reinterpret_cast<__m512i*>(p), (__m512i)r.v);
#endif
#if defined(__AVX__)
        if constexpr (sizeof(r.v) == 32) _mm256_stream_si256(reinterpret_cast<__m256i*>(p), (__m256i)r.v);
#endif
        if constexpr (sizeof(r.v) == 16) _mm_stream_si128(reinterpret_cast<__m128i*>(p), (__m128i)r.v);
        return;
      }
    }
  }
#endif
  store(l, p, r);
}

// Element i is fn(i), for the lanes of the access only.
template <class S, int N, class Fn> DML_FN Raw<S, N> load_each(Full<N>, Fn fn) { return make_raw<S, N>(fn); }
template <class S, int N, class Fn> DML_FN Raw<S, N> load_each(Part<N> l, Fn fn) {
  S all[N] = {};
  for (int i = 0; i < l.n; i++) all[i] = fn(i);
  return load(Full<N>{}, static_cast<const S*>(all));
}
template <class S, int N, class Fn> DML_FN void store_each(Full<N>, Raw<S, N> r, Fn fn) {
  S all[N];
  spread(r, all);
  DML_UNROLL for (int i = 0; i < N; i++) fn(i, all[i]);
}
template <class S, int N, class Fn> DML_FN void store_each(Part<N> l, Raw<S, N> r, Fn fn) {
  S all[N];
  spread(r, all);
  for (int i = 0; i < l.n; i++) fn(i, all[i]);
}
template <class L, class S> DML_FN auto load_strided(L l, const S* p, i64 stride) {
  return load_each<S>(l, [=](int i) DML_INLINE { return p[i * stride]; });
}
template <class L, class S, int N> DML_FN void store_strided(L l, S* p, i64 stride, Raw<S, N> r) {
  store_each(l, r, [=](int i, S x) DML_INLINE { p[i * stride] = x; });
}

// ------------------------------------------------------------------------------------------------ conversion
template <class T, int N, class V> DML_FN Vec<T, N> widen(V narrow) {  // unsigned elements to lanes of T's size
  if constexpr (N == 1) return {T(narrow)};
  else return {(held<T, N>)__builtin_convertvector(narrow, simd<uint32_t, N>)};
}
template <class S, int N> DML_FN Raw<S, N> narrow(Vec<int32_t, N> a) {  // the low bits of each lane
  if constexpr (N == 1) return {stored_t<S>(a.v)};
  else return {__builtin_convertvector((simd<uint32_t, N>)a.v, simd<stored_t<S>, N>)};
}

template <int N> DML_FN Vec<float, N> float_from_f16(Vec<int32_t, N> h) {
  Vec<int32_t, N> magnitude = shift_bits_left(h & splat<N>(0x7fff), 13);
  Vec<float, N> f = bitcast<float>(magnitude) * splat<N>(0x1p112f);  // also right for subnormals
  Vec<int32_t, N> special = magnitude | splat<N>(0x7f800000);
  special = special | select(magnitude > splat<N>(0x0f800000), splat<N>(0x00400000), splat<N>(0));  // a quiet NaN
  Vec<int32_t, N> r = select(magnitude >= splat<N>(0x0f800000), special, bitcast<int32_t>(f));
  return bitcast<float>(r | shift_bits_left(h & splat<N>(0x8000), 16));
}
template <int N> DML_FN Vec<int32_t, N> f16_from_float(Vec<float, N> x) {
  Vec<int32_t, N> all = bitcast<int32_t>(x), a = all & splat<N>(0x7fffffff), sign = shift_bits_right(all, 16) & splat<N>(0x8000);
  Vec<int32_t, N> normal = shift_bits_right(a + splat<N>(0xfff) + (shift_bits_right(a, 13) & splat<N>(1)), 13) - splat<N>(112 << 10);
  // 0.5 has f16's smallest subnormal as its last place: the adder rounds
  Vec<int32_t, N> tiny = bitcast<int32_t>(bitcast<float>(a) + splat<N>(0.5f)) - splat<N>(0x3f000000);
  Vec<int32_t, N> r = select(a < splat<N>(0x38800000), tiny, normal);
  r = select(a >= splat<N>(0x477ff000), splat<N>(0x7c00), r);  // 65520 and above
  r = select(a > splat<N>(0x7f800000), (shift_bits_right(a, 13) & splat<N>(0x3ff)) | splat<N>(0x7e00), r);
  return r | sign;
}
template <int N> DML_FN Vec<int32_t, N> bf16_from_float(Vec<float, N> x) {  // by integers: vcvtneps2bf16 would flush subnormals
  Vec<int32_t, N> a = bitcast<int32_t>(x);
  Vec<int32_t, N> r = shift_bits_right(a + splat<N>(0x7fff) + (shift_bits_right(a, 16) & splat<N>(1)), 16);
  Vec<int32_t, N> nan = (shift_bits_right(a, 16) & splat<N>(0x8000)) | splat<N>(0x7fc0);
  return select(x != x, nan, r);
}

template <class S, int N> DML_FN Vec<compute_t<S>, N> value(Raw<S, N> r) {
  if constexpr (raw_split<S, N>) return join(value(r.v.lo), value(r.v.hi));
  else if constexpr (same<S, b8>) {
    if constexpr (N == 1) return {decltype(Vec<bool, 1>::v)(r.v != 0)};
    else return widen<int32_t, N>(r.v) != splat<N>(0);
  } else if constexpr (same<S, bf16>) return bitcast<float>(shift_bits_left(widen<int32_t, N>(r.v), 16));
  else if constexpr (same<S, f16>) {
#if defined(__AVX512F__)
    if constexpr (N == 16) return {(simd<float, N>)_mm512_maskz_cvtph_ps(0xffff, (__m256i)r.v)};
    else
#endif
#if defined(__F16C__)
    if constexpr (N == 8) return {(simd<float, N>)_mm256_cvtph_ps((__m128i)r.v)};
    else if constexpr (N == 4) return {(simd<float, N>)_mm_cvtph_ps(_mm_cvtsi64_si128((long long)r.v))};
    else
#endif
    return float_from_f16(widen<int32_t, N>(r.v));
  } else return {r.v};
}

template <class S, int N> DML_FN Raw<S, N> pack(Vec<compute_t<S>, N> a) {
  if constexpr (raw_split<S, N>) return {{pack<S>(low(a)), pack<S>(high(a))}};
  else if constexpr (same<S, b8>) return narrow<S, N>(cast<int32_t>(a));
  else if constexpr (same<S, bf16>) return narrow<S>(bf16_from_float(a));
  else if constexpr (same<S, f16>) {
#if defined(__AVX512F__)
    if constexpr (N == 16) return {(decltype(Raw<S, N>::v))_mm512_maskz_cvtps_ph(0xffff, (__m512)a.v, _MM_FROUND_TO_NEAREST_INT)};
    else
#endif
#if defined(__F16C__)
    if constexpr (N == 8) return {(decltype(Raw<S, N>::v))_mm256_cvtps_ph((__m256)a.v, _MM_FROUND_TO_NEAREST_INT)};
    else if constexpr (N == 4) return {(decltype(Raw<S, N>::v))_mm_cvtsi128_si64(_mm_cvtps_ph((__m128)a.v, _MM_FROUND_TO_NEAREST_INT))};
    else
#endif
    return narrow<S>(f16_from_float(a));
  } else return {a.v};
}

}  // namespace dml
