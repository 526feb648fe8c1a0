// GEMM for few rows, where reading B is the work. `skinny`: each panel of B is read once from memory, in slices that stay in
// the L2 cache while all rows pass over them. `gemv`: row by row; several panels at once, so that as many streams run ahead.
#pragma once
#include "gemm_tile.h"

namespace dml::cpu {

// ---- skinny: blocks of MC rows (one, as a rule), a task is one panel.
template <class P, class B> struct SkinnyScratch {
  using Word = typename Layout<B>::Word;
  i64 ld, a, b, c;
  explicit SkinnyScratch(const GemmDims& d) {
    const i64 rows = least(P::MC, d.m);
    ld = packed_ld(ceil_div(d.k, word_k<Word>));
    a = rows * ld * 4;
    b = Layout<B>::packed ? 0 : rounded_up(least(P::KC, d.k) * P::NR * 4, 64);
    c = rounded_up(rows * P::NR * 4, 64);
  }
  i64 bytes() const { return a + b + c; }
};

template <class P, class A, class B, class Y> int gemm_skinny(const dml_ctx& ctx, const GemmDims& d, const A& a, const B& b, const Y& y) {
  using Word = typename Layout<B>::Word;
  const SkinnyScratch<P, B> sizes(d);
  const i64 panels = ceil_div(d.n, P::NR), row_blocks = ceil_div(d.m, P::MC), words = ceil_div(d.k, word_k<Word>);
  parallel(ctx, d.b0 * d.b1 * row_blocks * panels, 1, [&](i64 begin, i64 end, int worker) {
    char* scratch = worker_scratch<char>(ctx, worker, sizes.bytes());
    Word* packed = reinterpret_cast<Word*>(scratch);
    float* c = reinterpret_cast<float*>(scratch + sizes.a + sizes.b);
    Rows<Word> left{packed, sizes.ld};
    for (i64 t = begin; t < end; t++) {
      const i64 block = t / panels, batch = block / row_blocks, n = t % panels * P::NR;
      const i64 m = block % row_blocks * P::MC;
      At rows{batch / d.b1, batch % d.b1, m, least(P::MC, d.m - m), 0, d.k};
      if (t == begin || t % panels == 0) {
        if (in_place<Word>(a, rows.count, d.k))
          left = in_place_rows<Word>(a, rows);
        else
          pack_rows(a, rows, packed, sizes.ld);
      }
      At at{rows.b0, rows.b1, n, least(P::NR, d.n - n), 0, 0};
      for (i64 k0 = 0; k0 == 0 || k0 < d.k; k0 += P::KC) {
        at.k0 = k0, at.k = least(P::KC, d.k - k0);
        const i64 step = ceil_div(at.k, word_k<Word>);
        const auto run = [&](auto right, auto follow) DML_INLINE {
          panel_rows<P::MR, P::NR>(rows.count, step, left.p + k0 / word_k<Word>, left.ld, right, at.count, c, true, k0 > 0, follow,
                                   [](i64, int) {});
        };
        if constexpr (Layout<B>::packed) {
          auto right = packed_panel<P::NR>(b, at, words);
          run(right, right + step * P::NR);
        } else {
          float* right = reinterpret_cast<float*>(scratch + sizes.a);
          pack_panel<P::NR>(b, at, words, right);
          run(static_cast<const float*>(right), static_cast<const float*>(nullptr));
        }
      }
      emit<P::NR>(y, c, rows.count, at.count, at.b0, at.b1, m, n);
    }
  });
  return 0;
}

// ---- gemv
template <int U, int NR, class S> DML_FN void gemv_panels(i64 k, const float* a, const S* b, i64 panel, float* c) {
  constexpr int NV = NR / lanes;  // no prefetch by software: several plain streams are faster
  Floats acc[U][NV];
#pragma GCC unroll 32
  for (int i = 0; i < U * NV; i++) acc[i / NV][i % NV] = splat<lanes>(0.f);
  for (i64 i = 0; i < k; i++, b += NR) {
    const Floats x = splat<lanes>(a[i]);
#pragma GCC unroll 8
    for (int u = 0; u < U; u++) {
#pragma GCC unroll 4
      for (int v = 0; v < NV; v++) acc[u][v] = multiply_add(x, Step<S>::panel(b + u * panel + v * lanes), acc[u][v]);
    }
  }
#pragma GCC unroll 32
  for (int i = 0; i < U * NV; i++) store_floats(c + i / NV * NR + i % NV * lanes, acc[i / NV][i % NV]);
}
// Columns [n, n + count) of a row, count <= U * NR, into c.
template <int U, int NR, class S>
void gemv_columns(const GemmDims& d, const float* a, const PackedB<S, NR>& b, i64 b0, i64 b1, i64 n, i64 count, float* c) {
  const S* p = b.p + b0 * b.s0 + b1 * b.s1 + n * d.k;
  if (count > (U - 1) * NR) return gemv_panels<U, NR>(d.k, a, p, d.k * NR, c);
  for (i64 j = 0; j < count; j += NR) gemv_panels<1, NR>(d.k, a, p + j * d.k, 0, c + j);
}
// Rows of B that are contiguous along k: dot products, four columns at a time.
template <int C, class S> DML_FN void gemv_dots(i64 k, const float* a, const S* b, i64 ld, float* c) {
  Floats acc[C][2];
#pragma GCC unroll 16
  for (int i = 0; i < C * 2; i++) acc[i / 2][i % 2] = splat<lanes>(0.f);
  i64 i = 0;
  for (; i + 2 * lanes <= k; i += 2 * lanes)
#pragma GCC unroll 16
    for (int j = 0; j < C * 2; j++)
      acc[j / 2][j % 2] =
          multiply_add(load_floats(a + i + j % 2 * lanes), Step<S>::panel(b + j / 2 * ld + i + j % 2 * lanes), acc[j / 2][j % 2]);
  for_lanes(k - i, [&](auto l, i64 at) DML_INLINE {
    const Floats x = value(load(l, a + i + at));
#pragma GCC unroll 8
    for (int j = 0; j < C; j++) acc[j][0] = multiply_add(x, keep(l, value(load(l, b + j * ld + i + at)), 0.f), acc[j][0]);
  });
#pragma GCC unroll 8
  for (int j = 0; j < C; j++) c[j] = hsum(acc[j][0] + acc[j][1]);
}
template <int U, int NR, class S>
void gemv_columns(const GemmDims& d, const float* a, const Strided<S>& b, i64 b0, i64 b1, i64 n, i64 count, float* c) {
  const S* p = b.p + b0 * b.s0 + b1 * b.s1 + n * b.s3;
  if (b.s2 == 1 && b.s3 != 1) {
    i64 j = 0;
    for (; j + 4 <= count; j += 4) gemv_dots<4>(d.k, a, p + j * b.s3, b.s3, c + j);
    for (; j < count; j++) gemv_dots<1>(d.k, a, p + j * b.s3, 0, c + j);
    return;
  }
  for_lanes(count, [&](auto l, i64 j) DML_INLINE {
    Floats acc = splat<lanes>(0.f);
    for (i64 k = 0; k < d.k; k++)
      acc = multiply_add(splat<lanes>(a[k]), value(b.s3 == 1 ? load(l, p + k * b.s2 + j) : load_strided(l, p + k * b.s2 + j * b.s3, b.s3)),
                         acc);
    store_floats(c + j, acc);
  });
}
template <int U, int NR, class B>
void gemv_columns(const GemmDims& d, const float* a, const B& accessor, i64 b0, i64 b1, i64 n, i64 count, float* c) {
  const B b = accessor;
  for_lanes(count, [&](auto l, i64 j) DML_INLINE {
    Floats acc = splat<lanes>(0.f);
    for (i64 k = 0; k < d.k; k++) acc = multiply_add(splat<lanes>(a[k]), b.eval(l, b.fetch(l, b0, b1, k, n + j), b0, b1, k, n + j), acc);
    store_floats(c + j, acc);
  });
}

template <class P> i64 gemv_scratch(const GemmDims& d) { return packed_ld(d.k) * 4; }

template <class P, class A, class B, class Y> int gemv(const dml_ctx& ctx, const GemmDims& d, const A& a, const B& b, const Y& y) {
  constexpr int U = 4, NR = P::NR;
  const i64 groups = ceil_div(d.n, U * NR), bytes = gemv_scratch<P>(d);
  parallel(ctx, d.b0 * d.b1 * d.m * groups, 1, [&](i64 begin, i64 end, int worker) {
    float* packed = worker_scratch<float>(ctx, worker, bytes);
    const float* x = packed;
    for (i64 t = begin; t < end; t++) {
      const i64 n = t % groups * U * NR, row = t / groups, m = row % d.m, b0 = row / d.m / d.b1, b1 = row / d.m % d.b1;
      const At at{b0, b1, m, 1, 0, d.k};
      if (t == begin || t % groups == 0) {
        if (in_place<float>(a, 1, d.k))
          x = in_place_rows<float>(a, at).p;
        else
          pack_rows(a, at, packed, 0);
      }
      alignas(64) float c[U * NR];
      const i64 count = least(U * NR, d.n - n);
      gemv_columns<U, NR>(d, x, b, b0, b1, n, count, c);
      for (i64 j = 0; j < count; j += NR) emit<NR>(y, c + j, 1, least(NR, count - j), b0, b1, m, n + j);
    }
  });
  return 0;
}

}  // namespace dml::cpu
