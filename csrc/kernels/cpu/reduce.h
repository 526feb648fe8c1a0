// Reduction of one coordinate: sum, product, max, min, any, all, argmax, argmin.
// Mapping: rows (outer i0, i1, i2; along i3): a worker takes whole rows, four accumulators of P::width lanes.
// columns (outer i0, i1, i3; along i2): a worker takes a block of columns and walks down four rows at a time, so that
// memory is read in long pieces; accumulators stay in L1.
// Few results and a long reduction: the reduction is cut into pieces and workers share them. The cut depends on the
// extents only, and pieces meet in order, so the result does not depend on the number of workers.
// Traffic: each element once. Float sums are added in segments, so that errors grow with the square root of the length.
// Scratch: 256 KiB in all (partial states of the pieces).
#pragma once
#include "reduce_ops.h"

namespace dml::cpu {

struct ReduceDims { i64 n0, n1, n2, n3; };

inline constexpr i64 few_results = 16, segment = 64;

// [lo, hi) of one row, as a state of one lane.
template <int W, class Op, class T, class Load> DML_FN auto reduce_row(const Load& x, i64 i0, i64 i1, i64 i2, i64 lo, i64 hi) {
  using State = typename Op::template State<T, W>;
  State total = Op::template start<T, W>(lo, 1);
  for (i64 c = lo; c < hi; c += segment * 4 * W) {
    State s[4];
    DML_UNROLL for (int a = 0; a < 4; a++) s[a] = Op::template start<T, W>(c + a * W, 1);
    across<W, 4>(c, c + segment * 4 * W < hi ? c + segment * 4 * W : hi,
        [&](auto l, i64 k) DML_INLINE { return x.fetch(l, i0, i1, i2, k); },
        [&](auto l, const auto& got, i64 k, int a) DML_INLINE {
          s[a] = Op::take(s[a], keep(l, x.eval(l, got, i0, i1, i2, k), Op::template none<T>()), k, 1);
        });
    total = Op::merge(total, Op::merge(Op::merge(s[0], s[1]), Op::merge(s[2], s[3])));
  }
  return over_lanes<Op>(total);
}

template <class P, class Load, class Store> void reduce_rows(const dml_ctx& ctx, const ReduceDims& d, Load x_, Store y_) {
  using T = element_t<Load>;
  using Op = typename P::op;
  using One = typename Op::template State<T, 1>;
  constexpr int W = P::width;
  constexpr i64 most_pieces = 64;
  const i64 outer = d.n0 * d.n1 * d.n2;
  const i64 piece = round_up(d.n3 / most_pieces < 32768 ? i64(32768) : d.n3 / most_pieces + 1, segment * 4 * W);
  const i64 pieces = d.n3 > piece ? (d.n3 + piece - 1) / piece : 1;
  auto of_piece = [&](const Load& x, i64 i0, i64 i1, i64 i2, i64 p) DML_INLINE {
    return reduce_row<W, Op, T>(x, i0, i1, i2, p * piece, (p + 1) * piece < d.n3 ? (p + 1) * piece : d.n3);
  };
  auto put = [&](const Store& y, i64 i0, i64 i1, i64 i2, One s) DML_INLINE {
    y.put(Full<1>{}, y.fetch(Full<1>{}, i0, i1, i2, 0), i0, i1, i2, 0, Op::result(s));
  };
  if (outer >= few_results || pieces == 1) {
    parallel(ctx, outer, grain_of(d.n3), [&](i64 begin, i64 end, int) {
      auto x = x_;
      auto y = y_;
      each_outer(begin, end, d.n1, d.n2, [&](i64 i0, i64 i1, i64 i2) DML_INLINE {
        One s = of_piece(x, i0, i1, i2, 0);
        for (i64 p = 1; p < pieces; p++) s = Op::merge(s, of_piece(x, i0, i1, i2, p));
        put(y, i0, i1, i2, s);
      });
    });
    return;
  }
  One* partial = static_cast<One*>(ctx.scratch);
  parallel(ctx, outer * pieces, 1, [&](i64 begin, i64 end, int) {
    auto x = x_;
    for (i64 k = begin; k < end; k++) {
      const i64 o = k / pieces;
      partial[k] = of_piece(x, o / d.n2 / d.n1, o / d.n2 % d.n1, o % d.n2, k % pieces);
    }
  });
  each_outer(0, outer, d.n1, d.n2, [&](i64 i0, i64 i1, i64 i2) {
    const One* of = partial + ((i0 * d.n1 + i1) * d.n2 + i2) * pieces;
    One s = of[0];
    for (i64 p = 1; p < pieces; p++) s = Op::merge(s, of[p]);
    put(y_, i0, i1, i2, s);
  });
}

// Rows [lo, hi) of the columns [left, right) into state[], one for each vector of columns.
template <int W, class Op, class T, class Load, class State>
DML_FN void reduce_columns_block(const Load& x, i64 i0, i64 i1, i64 lo, i64 hi, i64 left, i64 right, State* state) {
  constexpr i64 most = 1024 / W;
  State part[most];
  const i64 vectors = (right - left + W - 1) / W;
  for (i64 v = 0; v < vectors; v++) state[v] = Op::template start<T, W>(lo, 0);
  for (i64 top = lo; top < hi; top += 4 * segment) {
    const i64 end = top + 4 * segment < hi ? top + 4 * segment : hi;
    for (i64 v = 0; v < vectors; v++) part[v] = Op::template start<T, W>(top, 0);
    down(top, end, [&](auto rows, i64 r) DML_INLINE {
      constexpr int R = decltype(rows)::width;
      across<W, 1>(left, right, [&](auto l, i64 c) DML_INLINE { return fetch_rows<W, R>(x, l, i0, i1, r, c); },
          [&](auto l, const auto& got, i64 c, int) DML_INLINE {
            State s = part[(c - left) / W];
            DML_UNROLL for (int k = 0; k < R; k++) s = Op::take(s, x.eval(l, got.row[k], i0, i1, r + k, c), r + k, 0);
            part[(c - left) / W] = s;
          });
    });
    for (i64 v = 0; v < vectors; v++) state[v] = Op::merge(state[v], part[v]);
  }
}

template <class P, class Load, class Store> void reduce_columns(const dml_ctx& ctx, const ReduceDims& d, Load x_, Store y_) {
  using T = element_t<Load>;
  using Op = typename P::op;
  constexpr int W = P::width;
  using State = typename Op::template State<T, W>;
  const i64 outer = d.n0 * d.n1;
  i64 block = round_up(d.n3 * outer / few_results + 1, 64);
  if (block > 1024) block = 1024;
  const i64 blocks = (d.n3 + block - 1) / block;
  const i64 pieces = outer * blocks < few_results && outer * blocks * block <= 1024 && d.n2 >= 4096 ? few_results : 1;
  const i64 piece = round_up((d.n2 + pieces - 1) / pieces, 4), vectors = block / W;
  auto put = [&](const Store& y, i64 i0, i64 i1, i64 left, i64 right, const State* s) DML_INLINE {
    across<W, 1>(left, right, [&](auto l, i64 c) DML_INLINE { return y.fetch(l, i0, i1, 0, c); },
        [&](auto l, const auto& got, i64 c, int) DML_INLINE { y.put(l, got, i0, i1, 0, c, Op::result(s[(c - left) / W])); });
  };
  State* partial = static_cast<State*>(ctx.scratch);
  parallel(ctx, outer * blocks * pieces, pieces > 1 ? 1 : grain_of(block * d.n2), [&](i64 begin, i64 end, int) {
    auto x = x_;
    auto y = y_;
    State own[1024 / W];
    for (i64 k = begin; k < end; k++) {
      const i64 p = k % pieces, b = k / pieces % blocks, o = k / pieces / blocks, i0 = o / d.n1, i1 = o % d.n1;
      const i64 left = b * block, right = left + block < d.n3 ? left + block : d.n3;
      const i64 lo = p * piece < d.n2 ? p * piece : d.n2, hi = lo + piece < d.n2 ? lo + piece : d.n2;
      reduce_columns_block<W, Op, T>(x, i0, i1, lo, hi, left, right, pieces > 1 ? partial + k * vectors : own);
      if (pieces == 1) put(y, i0, i1, left, right, own);
    }
  });
  if (pieces == 1) return;
  for (i64 ob = 0; ob < outer * blocks; ob++) {
    State* s = partial + ob * pieces * vectors;
    const i64 left = ob % blocks * block, right = left + block < d.n3 ? left + block : d.n3, o = ob / blocks;
    for (i64 p = 1; p < pieces; p++)
      for (i64 v = 0; v < vectors && left + v * W < right; v++) s[v] = Op::merge(s[v], s[p * vectors + v]);
    put(y_, o / d.n1, o % d.n1, left, right, s);
  }
}

// P: width (lanes), form, op. Ports: a load accessor; a store accessor, put at (i0, i1, i2, 0) or (i0, i1, 0, i3).
template <class P, class Load, class Store> int reduce(const dml_ctx& ctx, const ReduceDims& d, Load x, Store y) {
  if constexpr (P::form == Form::rows) {
    if (d.n0 > 0 && d.n1 > 0 && d.n2 > 0) reduce_rows<P>(ctx, d, x, y);
  } else {
    if (d.n0 > 0 && d.n1 > 0 && d.n3 > 0) reduce_columns<P>(ctx, d, x, y);
  }
  return 0;
}

}  // namespace dml::cpu
