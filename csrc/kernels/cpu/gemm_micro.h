// Register tiles of the GEMM: R rows x NV vectors of accumulators, k innermost and in order, so that each element of the
// result is one chain of fused multiply-adds, whatever the tile it falls into. A is read by broadcasts straight from its rows;
// B comes from a panel (NR adjacent columns per k) that streams through the cache, while the panel that follows is prefetched.
// A step of k is one word: a float, or a pair of bf16 where the target has a dot product for them.
#pragma once
#include "dinoml/math.h"
#include "dinoml/vec.h"

#include "operand.h"

namespace dml::cpu {

constexpr int lanes = native<float>;
using Floats = Vec<float, lanes>;

DML_FN Floats load_floats(const float* p) { return value(load(Full<lanes>{}, p)); }
DML_FN void store_floats(float* p, Floats v) { store(Full<lanes>{}, p, to<float>(v)); }

// One rounding where the target has the instruction; software would take a hundred times as long as two roundings.
DML_FN Floats multiply_add(Floats a, Floats b, Floats c) {
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
  return fma(a, b, c);
#else
  return a * b + c;
#endif
}

// How one word of A meets a vector of words of B: word of A, step of B fetched, broadcast, multiply-add.
template <class S> struct Step {
  using Word = float;
  static DML_FN Floats panel(const S* p) { return value(load(Full<lanes>{}, p)); }
  static DML_FN Floats broadcast(const float* p) { return splat<lanes>(*p); }
  static DML_FN Floats add(Floats acc, Floats a, Floats b) { return multiply_add(a, b, acc); }
};

#if defined(__AVX512BF16__)
template <> struct Step<Pair> {
  using Word = Pair;
  static DML_FN __m512i panel(const Pair* p) { return _mm512_loadu_si512(p); }
  static DML_FN __m512i broadcast(const Pair* p) {
    int32_t both;
    __builtin_memcpy(&both, p, 4);
    return _mm512_set1_epi32(both);
  }
  static DML_FN Floats add(Floats acc, __m512i a, __m512i b) {
    __m512 sum;
    __builtin_memcpy(&sum, &acc, sizeof sum);
    sum = _mm512_dpbf16_ps(sum, (__m512bh)a, (__m512bh)b);
    __builtin_memcpy(&acc, &sum, sizeof sum);
    return acc;
  }
};
#endif

// What a tile prefetches while it computes: `at`, then `step` bytes further for each k.
struct Ahead {
  const char* at;
  i64 step;
};

// c[r * ldc + j] = (add ? c[r * ldc + j] : 0) + sum over k of a[r, k] * b[k, j], for r < R and j < NV * lanes.
template <int R, int NV, int NR, class S>
__attribute__((noinline)) void tile(i64 k, const typename Step<S>::Word* a, i64 lda, const S* b, float* c, i64 ldc, bool add, Ahead next) {
  using St = Step<S>;
  Floats acc[R][NV];
#pragma GCC unroll 32
  for (int r = 0; r < R; r++)
#pragma GCC unroll 4
    for (int v = 0; v < NV; v++) acc[r][v] = splat<lanes>(0.f);
  if (add) {
#pragma GCC unroll 32
    for (int r = 0; r < R; r++)
#pragma GCC unroll 4
      for (int v = 0; v < NV; v++) acc[r][v] = load_floats(c + r * ldc + v * lanes);
  }
  // Rows in threes: one pointer and the offsets 0, lda, 2 * lda, which are addressing modes. Twelve pointers would spill.
  constexpr int groups = (R + 2) / 3;
  const typename St::Word* rows[groups];
#pragma GCC unroll 16
  for (int g = 0; g < groups; g++) rows[g] = a + 3 * g * lda;
  for (i64 i = 0; i < k; i++) {
    decltype(St::panel(b)) w[NV];
#pragma GCC unroll 4
    for (int v = 0; v < NV; v++) w[v] = St::panel(b + v * lanes);
    __builtin_prefetch(next.at, 0, 2);
    __builtin_prefetch(next.at + 64, 0, 2);
    next.at += next.step;
    b += NR;
#pragma GCC unroll 32
    for (int r = 0; r < R; r++) {
      auto x = St::broadcast(rows[r / 3] + r % 3 * lda);
#pragma GCC unroll 4
      for (int v = 0; v < NV; v++) acc[r][v] = St::add(acc[r][v], x, w[v]);
    }
#pragma GCC unroll 16
    for (int g = 0; g < groups; g++) rows[g]++;
  }
#pragma GCC unroll 32
  for (int r = 0; r < R; r++)
#pragma GCC unroll 4
    for (int v = 0; v < NV; v++) store_floats(c + r * ldc + v * lanes, acc[r][v]);
}

// The tile for a run-time number of rows, 1 <= rows <= R.
template <int R, int NV, int NR, class S>
void tile_of(int rows, i64 k, const typename Step<S>::Word* a, i64 lda, const S* b, float* c, i64 ldc, bool add, Ahead next) {
  if constexpr (R > 1)
    if (rows < R) return tile_of<R - 1, NV, NR>(rows, k, a, lda, b, c, ldc, add, next);
  tile<R, NV, NR>(k, a, lda, b, c, ldc, add, next);
}

// All rows of a block against one panel, in tiles of nearly equal height; c has rows of NR. `columns` of the panel are wanted (the last panel of a
// matrix may be mostly padding); done(first row, rows) runs when a tile is in c; the next overwrites it unless keep_all. `follow`: the panel to prefetch, or null.
template <int MR, int NR, class S, class Done> DML_FN void panel_rows(i64 m, i64 k, const typename Step<S>::Word* a, i64 lda, const S* b,
                                                                      i64 columns, float* c, bool keep_all, bool add, const S* follow,
                                                                      Done&& done) {
  const i64 tiles = (m + MR - 1) / MR;
  const i64 step = follow ? (i64(sizeof(S)) * NR + tiles - 1) / tiles : 0;
  const char* next = follow ? reinterpret_cast<const char*>(follow) : reinterpret_cast<const char*>(b);
  for (i64 t = 0, row = 0; t < tiles; t++) {
    const int rows = int((m - row + tiles - t - 1) / (tiles - t));
    constexpr int NV = NR / lanes;
    float* to = keep_all ? c + row * NR : c;
    if (NV > 1 && columns <= NR - lanes)
      tile_of<MR, (NV > 1 ? NV - 1 : 1), NR>(rows, k, a + row * lda, lda, b, to, NR, add, Ahead{next, step});
    else
      tile_of<MR, NV, NR>(rows, k, a + row * lda, lda, b, to, NR, add, Ahead{next, step});
    done(row, rows);
    next += step * k;
    row += rows;
  }
}

}  // namespace dml::cpu
