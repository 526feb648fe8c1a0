// Attention without the matrix of scores: Y(b, h, q, :) = softmax over k of score(scale * Q . K), times V; a running maximum
// and sum per row, float32 throughout. A task is a block of query rows that share a K/V head (the query heads of a group are
// rows side by side). For each block of keys it packs K transposed and V into its scratch; then, a tile of rows at a time,
// scores (in the L1 cache), exponentials and the product with V go through the register tiles of the GEMM.
// A row whose scores are all -inf, or without a key that it may see, gives 0; a NaN among them gives NaN.
//   Q (b, h, q, d), K (b, h / group, k, d), V (b, h / group, k, dv): Strided<S>, fast where the last stride is 1
//   score: map at (b, h, q, k), a vector along k; its k need not be a multiple of the width. Y: store at (b, h, q, dv)
// P: MR, NR: register tile; BQ: rows of a block, BK: keys of a block, multiples of MR and NR; causal: key <= q + causal_offset only.
#pragma once
#include "attention_few.h"

namespace dml::cpu {

// Scratch of one worker, in floats: Q, results, scores of a tile, K transposed, V, maximum and sum per row.
template <class P> struct AttentionScratch {
  i64 ldq, wide, keys, q, o, s, kt, v, state;
  explicit AttentionScratch(const AttentionDims& d) {
    const i64 rows = least(P::BQ, rounded_up(d.group * d.q, P::MR));
    ldq = packed_ld(d.d), wide = rounded_up(d.dv, P::NR), keys = least(P::BK, rounded_up(d.k, P::NR));
    q = rows * ldq, o = rows * wide, s = P::MR * keys, kt = rounded_up(keys * d.d, 16), v = keys * wide, state = rounded_up(2 * rows, 16);
  }
  i64 bytes() const { return (q + o + s + kt + v + state) * 4; }
};

// The K/V head that comes next: a few of its rows are prefetched with each tile of scores. Rows of a merged QKV matrix are too
// short and too far apart for the hardware to see it coming.
struct Next {
  i64 b, head, row, end;
  template <class S> DML_FN void lines(const S* p, i64 bytes) const {
    for (i64 i = 0; i < bytes; i += 64) __builtin_prefetch(reinterpret_cast<const char*>(p) + i, 0, 2);
  }
  template <class Q, class K, class V> DML_FN void fetch(const Q& q, const K& k, const V& v, const AttentionDims& d) {
    for (int turn = 0; turn < 4 && row < end; turn++, row++) {
      if (row < d.q) lines(q.p + b * q.s0 + head * d.group * q.s1 + row * q.s2, d.d * i64(sizeof *q.p));
      if (row < d.k)
        lines(k.p + b * k.s0 + head * k.s1 + row * k.s2, d.d * i64(sizeof *k.p)),
            lines(v.p + b * v.s0 + head * v.s1 + row * v.s2, d.dv * i64(sizeof *v.p));
    }
  }
};

template <class P, class Q, class K, class V, class M, class Y> struct AttentionTask {
  const AttentionDims& d;
  const Q& q;
  const K& k;
  const V& v;
  const M& score;
  const Y& y;
  const AttentionScratch<P>& sizes;
  float *queries, *sums, *scores, *keys, *values;
  Running* running;
  Next next;

  AttentionTask(const AttentionDims& d_, const Q& q_, const K& k_, const V& v_, const M& score_, const Y& y_,
                const AttentionScratch<P>& sizes_, float* scratch)
      : d(d_), q(q_), k(k_), v(v_), score(score_), y(y_), sizes(sizes_) {
    queries = scratch, sums = queries + sizes.q, scores = sums + sizes.o;
    keys = scores + sizes.s, values = keys + sizes.kt, running = reinterpret_cast<Running*>(values + sizes.v);
  }

  // Rows [first, first + count) of K/V head `head` of batch b.
  void run(i64 b, i64 head, i64 first, i64 count) {
    pack_queries(q, d, b, head, first, count, queries, sizes.ldq);
    for (i64 r = 0; r < count; r++) running[r] = Running{};
    i64 end = d.k;
    if (P::causal) {  // the furthest key that any row may see
      const i64 last = first + count - 1, row = first / d.q == last / d.q ? last % d.q : d.q - 1;
      end = most(0, least(d.k, row + d.causal_offset + 1));
    }
    for (i64 k0 = 0; k0 < end; k0 += P::BK) block(b, head, first, count, k0, least(P::BK, end - k0));
    if (end == 0)
      for (i64 i = 0; i < count * sizes.wide; i += lanes) store_floats(sums + i, splat<lanes>(0.f));
    finish(b, head, first, count);
  }
  void block(i64 b, i64 head, i64 first, i64 count, i64 k0, i64 width) {
    const auto transposed = Strided<storage<K>>{k.p, k.s0, k.s1, k.s3, k.s2};
    for (i64 n = 0; n < width; n += P::NR)
      pack_panel<P::NR>(transposed, At{b, head, k0 + n, least(P::NR, width - n), 0, d.d}, 0, keys + n * d.d);
    for (i64 n = 0; n < d.dv; n += P::NR) pack_panel<P::NR>(v, At{b, head, n, least(P::NR, d.dv - n), k0, width}, 0, values + n * width);
    const i64 tiles = ceil_div(count, P::MR);
    for (i64 t = 0, row = 0; t < tiles; t++) {
      const int rows = int((count - row + tiles - t - 1) / (tiles - t));
      tile_rows(b, head, first + row, row, rows, k0, width);
      row += rows;
    }
  }
  void tile_rows(i64 b, i64 head, i64 at, i64 row, int rows, i64 k0, i64 width) {
    i64 seen[P::MR], most_seen = 0;  // keys of this block that a row may see
    RowOf row_of(d, head, at);
    for (int r = 0; r < rows; r++, row_of.next()) {
      seen[r] = P::causal ? most(0, least(width, row_of.query + d.causal_offset + 1 - k0)) : width;
      most_seen = most(most_seen, seen[r]);
    }
    if (most_seen == 0 && k0 > 0) return;
    const i64 lds = sizes.keys;
    const Ahead none{reinterpret_cast<const char*>(keys), 0};
    for (i64 n = 0; n < most_seen; n += P::NR) {
      next.fetch(q, k, v, d);
      tile_of<P::MR, P::NR / lanes, P::NR>(rows, d.d, queries + row * sizes.ldq, sizes.ldq, keys + n * d.d, scores + n, lds, false, none);
    }
    exponentials(b, head, at, row, rows, k0, seen, most_seen);
    for (i64 n = 0; n < d.dv; n += P::NR) {
      float* c = sums + row * sizes.wide + n;
      if (P::NR > lanes && d.dv - n <= P::NR - lanes)
        tile_of<P::MR, (P::NR > lanes ? P::NR / lanes - 1 : 1), P::NR>(rows, most_seen, scores, lds, values + n * width, c, sizes.wide,
                                                                       k0 > 0, none);
      else
        tile_of<P::MR, P::NR / lanes, P::NR>(rows, most_seen, scores, lds, values + n * width, c, sizes.wide, k0 > 0, none);
    }
  }
  // Scores become exp(score - maximum), columns [seen, most_seen) 0; earlier sums shrink to the new maximum.
  void exponentials(i64 b, i64 head, i64 at, i64 row, int rows, i64 k0, const i64* seen, i64 most_seen) {
    const M map = score;
    RowOf of(d, head, at);
    float maximum[P::MR];
    for (int r = 0; r < rows; r++, of.next())
      maximum[r] = row_maximum(map, b, of.head, of.query, k0, seen[r], scores + r * sizes.keys, running[row + r].maximum);
    for (int r = 0; r < rows; r++) {
      float *s = scores + r * sizes.keys, *o = sums + (row + r) * sizes.wide;
      const float shrink = row_exponentials(seen[r], s, maximum[r], running[row + r]);
      for (i64 i = rounded_up(seen[r], lanes); i < most_seen; i += lanes) store_floats(s + i, splat<lanes>(0.f));
      if (k0 > 0 && shrink != 1.f)
        for (i64 i = 0; i < sizes.wide; i += lanes) store_floats(o + i, load_floats(o + i) * splat<lanes>(shrink));
    }
  }
  void finish(i64 b, i64 head, i64 first, i64 count) {
    const Y out = y;
    RowOf row(d, head, first);
    for (i64 r = 0; r < count; r++, row.next()) {
      const float over = running[r].sum == 0.f ? 0.f : 1.f / running[r].sum;
      for_lanes(d.dv, [&](auto l, i64 j) DML_INLINE {
        auto got = out.fetch(l, b, row.head, row.query, j);
        out.put(l, got, b, row.head, row.query, j, load_floats(sums + r * sizes.wide + j) * splat<lanes>(over));
      });
    }
  }
};

// Blocks of rows for each K/V head, so that the busiest worker has the least to do; packing K and V costs about half a tile.
template <class P> i64 attention_row_blocks(const AttentionDims& d, i64 workers) {
  const i64 rows = d.group * d.q, heads = d.b * (d.h / d.group), tiles = ceil_div(rows, P::MR), fewest = ceil_div(rows, P::BQ);
  i64 best = fewest;
  double best_cost = 0;
  for (i64 blocks = fewest; blocks <= tiles && blocks < fewest + 8; blocks++) {
    const double cost = double(ceil_div(heads * blocks, workers)) * (double(ceil_div(tiles, blocks)) + 0.5);
    if (best_cost == 0 || cost < best_cost * 0.97) best_cost = cost, best = blocks;
  }
  return best;
}

// Bytes of scratch: shared ones first, then as many for each worker.
struct AttentionBytes {
  i64 shared, each;
};
template <class P> AttentionBytes attention_scratch(const AttentionDims& d) {
  if (d.group * d.q > few_rows) return {0, AttentionScratch<P>(d).bytes()};
  const FewScratch few(d);
  return {few.shared * 4, few.each * 4};
}

template <class P, class Q, class K, class V, class M, class Y>
int attention(const dml_ctx& ctx, const AttentionDims& d, const Q& q, const K& k, const V& v, const M& score, const Y& y) {
  static_assert(P::BQ % P::MR == 0 && P::BK % P::NR == 0 && P::NR % lanes == 0, "block sizes");
  if (d.b <= 0 || d.h <= 0 || d.q <= 0 || d.dv <= 0) return 0;
  const i64 rows = d.group * d.q, heads = d.h / d.group;
  if (rows <= few_rows) return attention_few<P>(ctx, d, q, k, v, score, y);
  const i64 blocks = attention_row_blocks<P>(d, ctx.workers), tall = ceil_div(ceil_div(rows, P::MR), blocks) * P::MR;
  const AttentionScratch<P> sizes(d);
  parallel(ctx, d.b * heads * blocks, 1, [&](i64 begin, i64 end, int worker) {
    AttentionTask<P, Q, K, V, M, Y> task(d, q, k, v, score, y, sizes, worker_scratch<float>(ctx, worker, sizes.bytes()));
    for (i64 t = begin; t < end; t++) {
      const i64 head = t / blocks, first = t % blocks * tall;
      const i64 after = (t + 1) / blocks;
      task.next = Next{after / heads, after % heads, 0, t + 1 < end && after != head ? least(512, most(d.q, d.k)) : 0};
      if (first < rows) task.run(head / heads, head % heads, first, least(tall, rows - first));
    }
  });
  return 0;
}

}  // namespace dml::cpu
