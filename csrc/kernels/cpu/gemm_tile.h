// GEMM for many rows. A task is a block of rows by some panels: for each slice of k the block of A lies in the L2 cache (in
// place or packed), panels of B stream past it, and each register tile runs over the whole slice. With a single slice a tile
// goes straight to the store accessor; otherwise partial sums wait in the worker's scratch. Tasks are cut so that workers get equal work.
#pragma once
#include "dinoml/parallel.h"
#include "gemm_pack.h"

namespace dml::cpu {

struct GemmDims {
  i64 b0, b1, m, n, k;  // two batch extents
};

// ---- Store: rows x columns of c, columns <= NR, at (b0, b1, m, n) of the result.
template <int NR, class Y> void emit(const Y& accessor, const float* c, i64 rows, i64 columns, i64 b0, i64 b1, i64 m, i64 n) {
  const Y y = accessor;
  constexpr int NV = NR / lanes, U = 4;  // U rows at a time: their operands are all fetched before the first is used
  using Got = typename Y::template Got<lanes>;
  i64 r = 0;
  if (columns == NR)
    for (; r + U <= rows; r += U) {
      Got got[U][NV];
#pragma GCC unroll 16
      for (int i = 0; i < U * NV; i++) got[i / NV][i % NV] = y.fetch(Full<lanes>{}, b0, b1, m + r + i / NV, n + i % NV * lanes);
#pragma GCC unroll 16
      for (int i = 0; i < U * NV; i++)
        y.put(Full<lanes>{}, got[i / NV][i % NV], b0, b1, m + r + i / NV, n + i % NV * lanes,
              load_floats(c + (r + i / NV) * NR + i % NV * lanes));
    }
  for (; r < rows; r++)
    for_lanes(columns, [&](auto l, i64 j) DML_INLINE {
      auto got = y.fetch(l, b0, b1, m + r, n + j);
      y.put(l, got, b0, b1, m + r, n + j, load_floats(c + r * NR + j));
    });
}

// ---- Cutting into tasks.
struct Split {
  i64 rows, row_blocks, panels, panel_blocks;  // rows and panels of a task
  DML_FN i64 tasks(const GemmDims& d) const { return d.b0 * d.b1 * row_blocks * panel_blocks; }
};
template <class P> DML_FN Split cut(const GemmDims& d, i64 row_blocks, i64 panel_blocks) {
  Split s;
  s.rows = ceil_div(d.m, row_blocks);
  s.row_blocks = ceil_div(d.m, s.rows);
  const i64 panels = ceil_div(d.n, P::NR);
  s.panels = ceil_div(panels, panel_blocks);
  s.panel_blocks = ceil_div(panels, s.panels);
  return s;
}
// The cut with the least work of the busiest worker; of nearly equal ones that with the largest tasks. Work is counted in
// register tiles: reading a block of A costs about a third of a panel of it, and the first tile of a panel waits for memory.
template <class P> Split cut_for(const GemmDims& d, i64 workers) {
  const i64 panels = ceil_div(d.n, P::NR), batch = d.b0 * d.b1;
  const i64 least_rows = ceil_div(d.m, P::MC), least_panels = ceil_div(d.n, P::NC);
  Split best = cut<P>(d, least_rows, least_panels);
  if (workers == 1) return best;
  const auto task = [](double rows, double wide) { return rows / P::MR * (wide + 0.3) + 0.5 * wide; };
  double best_cost = 0;
  for (i64 rows = least_rows; rows * P::MR < 2 * d.m && rows <= 8 * least_rows; rows *= 2)
    for (i64 rounds = 1; rounds <= 8; rounds++) {
      const Split s = cut<P>(d, rows, most(least_panels, least(panels, rounds * workers / (batch * rows))));
      const double mean = task(double(d.m) / double(s.row_blocks), double(panels) / double(s.panel_blocks)),
                   largest = task(double(s.rows), double(s.panels));
      const double cost = double(ceil_div(s.tasks(d), workers) - 1) * mean + largest;
      if (best_cost == 0 || cost < best_cost * 0.99) best_cost = cost, best = s;
    }
  return best;
}

// ---- Scratch of one worker, in bytes: the block of A, then a panel of B, then partial sums. `words`: see Step.
template <class P, class B> struct TileScratch {
  using Word = typename Layout<B>::Word;
  i64 ld, a, b, c;
  explicit TileScratch(const GemmDims& d) {
    const i64 k = least(P::KC, d.k), rows = least(P::MC, rounded_up(d.m, P::MR)), wide = least(P::NC, rounded_up(d.n, P::NR));
    ld = packed_ld(ceil_div(k, word_k<Word>));
    a = rows * ld * 4;
    b = reads_in_place<B> ? 0 : rounded_up(k * P::NR * 4, 64);
    c = d.k > P::KC ? rows * wide * 4 : P::MR * P::NR * 4;
  }
  i64 bytes() const { return a + b + c; }
};

template <class P, class A, class B, class Y> struct TileTask {
  using Word = typename Layout<B>::Word;
  const GemmDims& d;
  const A& a;
  const B& b;
  const Y& y;
  Split split;
  TileScratch<P, B> sizes;
  char* scratch;
  i64 packed_block = -1;  // the block of A that lies in scratch, where all of k fits

  void run(i64 task) {
    const i64 panel_block = task % split.panel_blocks, block = task / split.panel_blocks;
    const i64 batch = block / split.row_blocks;
    At rows{batch / d.b1, batch % d.b1, block % split.row_blocks * split.rows, 0, 0, 0};
    rows.count = least(split.rows, d.m - rows.first);
    const i64 first = panel_block * split.panels * P::NR, end = least(d.n, first + split.panels * P::NR);
    for (i64 k0 = 0; k0 == 0 || k0 < d.k; k0 += P::KC) {
      rows.k0 = k0, rows.k = least(P::KC, d.k - k0);
      slice(rows, block, first, end);
    }
  }
  void slice(const At& rows, i64 block, i64 first, i64 end) {
    Word* packed = reinterpret_cast<Word*>(scratch);
    Rows<Word> left{packed, sizes.ld};
    if (in_place<Word>(a, rows.count, d.k))
      left = in_place_rows<Word>(a, rows);
    else if (block != packed_block || d.k > P::KC)
      pack_rows(a, rows, packed, sizes.ld), packed_block = block;
    float* partial = reinterpret_cast<float*>(scratch + sizes.a + sizes.b);
    for (i64 n = first; n < end; n += P::NR) {
      const i64 columns = least(P::NR, end - n);
      const bool whole = d.k <= P::KC, last = rows.k0 + rows.k == d.k;
      // A single tile is overwritten by the next; partial sums of all tiles lie panel by panel.
      float* c = whole ? partial : partial + (n - first) * rows.count;
      auto done = [&](i64 row, i64 count) {
        if (last) emit<P::NR>(y, whole ? c : c + row * P::NR, count, columns, rows.b0, rows.b1, rows.first + row, n);
      };
      panel(rows, left, n, columns, c, !whole, done);
    }
  }
  template <class Done> void panel(const At& rows, Rows<Word> left, i64 n, i64 columns, float* c, bool keep_all, Done& done) {
    const i64 words = ceil_div(rows.k, word_k<Word>), all_words = ceil_div(d.k, word_k<Word>);
    const At at{rows.b0, rows.b1, n, columns, rows.k0, rows.k};
    const Word *right, *follow = nullptr;
    if constexpr (reads_in_place<B>) {
      right = packed_panel<P::NR>(b, at, all_words);
      follow = right + all_words * P::NR;
    } else {
      float* to = reinterpret_cast<float*>(scratch + sizes.a);
      pack_panel<P::NR>(b, at, all_words, to);
      right = to;
    }
    panel_rows<P::MR, P::NR>(rows.count, words, left.p, left.ld, right, columns, c, keep_all, rows.k0 > 0, follow, done);
  }
};

template <class P, class A, class B, class Y> int gemm_tile(const dml_ctx& ctx, const GemmDims& d, const A& a, const B& b, const Y& y) {
  static_assert(P::MC % P::MR == 0 && P::NC % P::NR == 0 && P::KC % 16 == 0 && P::NR % lanes == 0, "tile sizes");
  const Split split = cut_for<P>(d, ctx.workers);
  const TileScratch<P, B> sizes(d);
  parallel(ctx, split.tasks(d), 1, [&](i64 begin, i64 end, int worker) {
    TileTask<P, A, B, Y> task{d, a, b, y, split, sizes, worker_scratch<char>(ctx, worker, sizes.bytes())};
    for (i64 t = begin; t < end; t++) task.run(t);
  });
  return 0;
}

}  // namespace dml::cpu
