// Bringing operands into the form the register tiles read: blocks of A as rows of words (only where they cannot be read in
// place), panels of B as rows of NR floats. Each is written once per block to the worker's scratch, which stays in the L2 cache.
#pragma once
#include "gemm_micro.h"

namespace dml::cpu {

DML_FN constexpr i64 ceil_div(i64 a, i64 b) { return (a + b - 1) / b; }
DML_FN constexpr i64 rounded_up(i64 a, i64 b) { return ceil_div(a, b) * b; }
DML_FN constexpr i64 least(i64 a, i64 b) { return a < b ? a : b; }
DML_FN constexpr i64 most(i64 a, i64 b) { return a > b ? a : b; }

// Words from one packed row to the next: an odd number of cache lines, so that the rows of a tile fall into different sets.
DML_FN constexpr i64 packed_ld(i64 words) { return (ceil_div(words, 16) | 1) * 16; }

template <class Fn> DML_FN void for_lanes(i64 n, Fn&& fn) {  // fn(lanes, first)
  i64 i = 0;
  for (; i + lanes <= n; i += lanes) fn(Full<lanes>{}, i);
  if (i < n) fn(Part<lanes>{int(n - i)}, i);
}

// x[i][j] <-> x[j][i], by halves: log2(lanes) exchanges of neighbouring blocks.
typedef float GnuFloats __attribute__((vector_size(lanes * 4)));
typedef int32_t GnuInts __attribute__((vector_size(lanes * 4)));
template <int D> DML_FN void exchange(GnuFloats (&x)[lanes]) {
  GnuInts low{}, high{};
#pragma GCC unroll 16
  for (int l = 0; l < lanes; l++) {
    low[l] = l & D ? lanes + l - D : l;
    high[l] = l & D ? lanes + l : l + D;
  }
#pragma GCC unroll 16
  for (int i = 0; i < lanes; i++)
    if (!(i & D)) {
      GnuFloats a = x[i], b = x[i + D];
      x[i] = __builtin_shuffle(a, b, low);
      x[i + D] = __builtin_shuffle(a, b, high);
    }
  if constexpr (D > 1) exchange<D / 2>(x);
}

// dst[j * ld + i] = src[i * stride + j] for i < count <= lanes, j < len; columns of dst from count to lanes become zero.
template <class L, class S> DML_FN void transpose_block(L len, int count, const S* src, i64 stride, float* dst, i64 ld, int rows) {
  GnuFloats x[lanes];
#pragma GCC unroll 16
  for (int i = 0; i < lanes; i++) {
    Floats v = i < count ? value(load(len, src + i * stride)) : splat<lanes>(0.f);
    __builtin_memcpy(&x[i], &v, sizeof v);
  }
  exchange<lanes / 2>(x);
#pragma GCC unroll 16
  for (int j = 0; j < lanes; j++)
    if (j < rows) __builtin_memcpy(dst + j * ld, &x[j], sizeof x[j]);
}
// Rows of dst are written in whole vectors.
template <class S> void transpose(i64 count, i64 len, const S* src, i64 stride, float* dst, i64 ld) {
  for (i64 i = 0; i < count; i += lanes)
    for_lanes(len, [&](auto l, i64 j) DML_INLINE {
      const i64 rest = count - i;
      if (decltype(l)::width == lanes && rest >= lanes && j + lanes <= len)
        transpose_block(Full<lanes>{}, lanes, src + i * stride + j, stride, dst + j * ld + i, ld, lanes);
      else
        transpose_block(Part<lanes>{int(least(lanes, len - j))}, int(least(lanes, rest)), src + i * stride + j, stride, dst + j * ld + i,
                        ld, int(least(lanes, len - j)));
    });
}

// ---- A: `rows` rows from `row`, words [word, word + words), as rows of words.
template <class W> struct Rows {
  const W* p;
  i64 ld;
};
struct At {  // a block of an operand: batch, first row or column, first k, extents
  i64 b0, b1, first, count, k0, k;
};
template <class W> constexpr int word_k = same<W, Pair> ? 2 : 1;  // values of k in a word

// Rows that are a multiple of 4 KiB apart share one cache set: more of them than it has ways do not stay.
template <class W, class S> DML_FN bool in_place(const Strided<S>& a, i64 rows, i64 k) {
  if (a.s3 != 1 || (rows > 6 && a.s2 * i64(sizeof(S)) % 4096 == 0)) return false;
  if (same<W, float>) return same<S, float>;
  return same<S, bf16> && a.s2 % 2 == 0 && k % 2 == 0;
}
template <class W, class Any> DML_FN bool in_place(const Any&, i64, i64) { return false; }

template <class L> DML_FN void put_words(L l, float* dst, i64 i, Floats v) { store(Full<lanes>{}, dst + i, to<float>(keep(l, v, 0.f))); }
template <class L> DML_FN void put_words(L l, Pair* dst, i64 i, Floats v) {
  store(Full<lanes>{}, reinterpret_cast<bf16*>(dst) + i, to<bf16>(keep(l, v, 0.f)));
}
// Writes whole vectors: a row has room for its words rounded up to 16.
template <class W, class S> void pack_rows(const Strided<S>& a, const At& at, W* dst, i64 ld) {
  const S* p = a.p + at.b0 * a.s0 + at.b1 * a.s1 + at.first * a.s2 + at.k0 * a.s3;
  if (a.s3 == 1) {
    for (i64 r = 0; r < at.count; r++)
      for_lanes(at.k, [&](auto l, i64 k) DML_INLINE {
        __builtin_prefetch(p + (r + 4) * a.s2 + k);  // each row is in pages of its own, where no hardware prefetch has begun
        put_words(l, dst + r * ld, k, value(load(l, p + r * a.s2 + k)));
      });
    return;
  }
  if constexpr (same<W, float>)
    if (a.s2 == 1) return transpose(at.k, at.count, p, a.s3, dst, ld);
  for (i64 r = 0; r < at.count; r++)
    for_lanes(at.k,
              [&](auto l, i64 k) DML_INLINE { put_words(l, dst + r * ld, k, value(load_strided(l, p + r * a.s2 + k * a.s3, a.s3))); });
}
// An accessor at (b0, b1, m, k), a vector along k.
template <class W, class A> void pack_rows(const A& accessor, const At& at, W* dst, i64 ld) {
  const A a = accessor;
  for (i64 r = 0; r < at.count; r++)
    for_lanes(at.k, [&](auto l, i64 k) DML_INLINE {
      auto got = a.fetch(l, at.b0, at.b1, at.first + r, at.k0 + k);
      put_words(l, dst + r * ld, k, a.eval(l, got, at.b0, at.b1, at.first + r, at.k0 + k));
    });
}
template <class W, class A> DML_FN Rows<W> block_of(const A& a, const At& at, W* scratch, i64 ld) {
  pack_rows(a, at, scratch, ld);
  return {scratch, ld};
}
template <class W, class S> DML_FN Rows<W> in_place_rows(const Strided<S>& a, const At& at) {
  const S* p = a.p + at.b0 * a.s0 + at.b1 * a.s1 + at.first * a.s2 + at.k0;
  return {reinterpret_cast<const W*>(p), a.s2 / word_k<W>};
}
template <class W, class A> DML_FN Rows<W> in_place_rows(const A&, const At&) { return {nullptr, 0}; }

// ---- B: columns [first, first + count) of one panel, k in [k0, k0 + k), as rows of NR words of type Layout<B>::Word.
template <class B> struct Layout {  // Strided and accessors
  using Word = float;
  using Raw = float;  // what the panel holds where it is not widened first
  static constexpr bool packed = false;
};
template <class S, int NR> struct Layout<PackedB<S, NR>> {
  using Word = float;
  using Raw = S;
  static constexpr bool packed = true;
};
template <int NR> struct Layout<PackedBPairs<NR>> {
  using Word = Pair;
  using Raw = Pair;
  static constexpr bool packed = true;
};
template <class B> constexpr bool reads_in_place = Layout<B>::packed && sizeof(typename Layout<B>::Raw) == 4;

template <int NR, class B> DML_FN auto packed_panel(const B& b, const At& at, i64 words) {
  constexpr int per = word_k<typename Layout<B>::Word>;
  return b.p + at.b0 * b.s0 + at.b1 * b.s1 + at.first * words + at.k0 / per * NR;
}
template <int NR, class S> void pack_panel(const PackedB<S, NR>& b, const At& at, i64 words, float* dst) {
  const S* p = packed_panel<NR>(b, at, words);
  for (i64 i = 0; i < at.k * NR; i += lanes) store_floats(dst + i, value(load(Full<lanes>{}, p + i)));
}
template <int NR, class S> void pack_panel(const Strided<S>& b, const At& at, i64, float* dst) {
  const S* p = b.p + at.b0 * b.s0 + at.b1 * b.s1 + at.k0 * b.s2 + at.first * b.s3;
  if (b.s2 == 1 && b.s3 != 1) {
    transpose(at.count, at.k, p, b.s3, dst, NR);
    for (i64 c = rounded_up(at.count, lanes); c < NR; c += lanes)
      for (i64 k = 0; k < at.k; k++) store_floats(dst + k * NR + c, splat<lanes>(0.f));
    return;
  }
  for (i64 k = 0; k < at.k; k++, dst += NR, p += b.s2) {
    if (b.s3 == 1)
      for_lanes(at.count, [&](auto l, i64 c) DML_INLINE { put_words(l, dst, c, value(load(l, p + c))); });
    else
      for_lanes(at.count, [&](auto l, i64 c) DML_INLINE { put_words(l, dst, c, value(load_strided(l, p + c * b.s3, b.s3))); });
    for (i64 c = rounded_up(at.count, lanes); c < NR; c += lanes) store_floats(dst + c, splat<lanes>(0.f));
  }
}
// An accessor at (b0, b1, k, n), a vector along n.
template <int NR, class B> void pack_panel(const B& accessor, const At& at, i64, float* dst) {
  const B b = accessor;
  constexpr int NV = NR / lanes;
  if (at.count == NR) {
    for (i64 k = at.k0; k < at.k0 + at.k; k++, dst += NR) {
      typename B::template Got<lanes> got[NV];
#pragma GCC unroll 4
      for (int v = 0; v < NV; v++) got[v] = b.fetch(Full<lanes>{}, at.b0, at.b1, k, at.first + v * lanes);
#pragma GCC unroll 4
      for (int v = 0; v < NV; v++) store_floats(dst + v * lanes, b.eval(Full<lanes>{}, got[v], at.b0, at.b1, k, at.first + v * lanes));
    }
    return;
  }
  for (i64 k = at.k0; k < at.k0 + at.k; k++, dst += NR) {
    for_lanes(at.count, [&](auto l, i64 c) DML_INLINE {
      auto got = b.fetch(l, at.b0, at.b1, k, at.first + c);
      put_words(l, dst, c, b.eval(l, got, at.b0, at.b1, k, at.first + c));
    });
    for (i64 c = rounded_up(at.count, lanes); c < NR; c += lanes) store_floats(dst + c, splat<lanes>(0.f));
  }
}

}  // namespace dml::cpu
