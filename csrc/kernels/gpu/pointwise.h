// Pointwise: body.run on every element of a grid of four coordinates. The body computes and stores all outputs, so one pass
// serves a chain with any number of results.
// Mapping: a block is P::columns threads along a row (i3) by the rest along rows (i2); each thread takes P::unroll vectors of
// P::rows neighbouring rows, a block's width apart, so that a warp's accesses are contiguous. It fetches all of them before
// it runs the first: the bytes in flight decide the speed.
// Traffic: each operand once, each result once. What is the same for all rows is loaded once for P::rows rows.
#pragma once
#include "launch.h"

namespace dml::gpu {

struct PointwiseDims { i64 n0, n1, n2, n3; };

// Tile `tile` of the columns, block `block` of the rows.
template <class P, class Body>
__global__ void __launch_bounds__(P::threads) pointwise_kernel(PointwiseDims d, unsigned tiles, unsigned row_blocks, Body body) {
  constexpr int W = P::width, U = P::unroll, R = P::rows, step = P::columns * W, high = P::threads / P::columns;
  const unsigned tile = blockIdx.x % tiles, block = blockIdx.x / tiles;
  const Outer o = outer_of(block, d.n0, d.n1, row_blocks);
  const i64 first = i64(tile) * (U * step), left = first + int(threadIdx.x) % P::columns * W;
  const i64 top = o.i2 * (R * high) + int(threadIdx.x) / P::columns * R;
  typename Body::template Got<W> got[R * U];
  if (P::tail == Tail::exact || (first + U * step <= d.n3 && (o.i2 + 1) * (R * high) <= d.n2)) {
    DML_UNROLL for (int k = 0; k < R * U; k++) got[k] = body.fetch(Full<W>{}, o.i0, o.i1, top + k / U, left + k % U * step);
    DML_UNROLL for (int k = 0; k < R * U; k++) body.run(Full<W>{}, got[k], o.i0, o.i1, top + k / U, left + k % U * step);
  } else {
    auto each = [&](auto&& fn) {  // fn(lanes, k, row, column)
      DML_UNROLL for (int k = 0; k < R * U; k++)
        if (top + k / U < d.n2) at_column<W, P::tail>(left + k % U * step, d.n3, [&](auto l, i64 c) { fn(l, k, top + k / U, c); });
    };
    each([&](auto l, int k, i64 row, i64 c) { got[k] = body.fetch(l, o.i0, o.i1, row, c); });
    each([&](auto l, int k, i64 row, i64 c) { body.run(l, got[k], o.i0, o.i1, row, c); });
  }
}

// P: width (lanes), unroll (vectors of a row), rows, columns (threads along a row), threads, tail.
// tail exact: width * columns * unroll divides n3, rows * threads / columns divides n2; whole: width divides n3.
template <class P, class Body> int pointwise(const dml_ctx& ctx, const PointwiseDims& d, Body body) {
  static_assert(P::threads % P::columns == 0, "whole rows of threads");
  if (d.n0 <= 0 || d.n1 <= 0 || d.n2 <= 0 || d.n3 <= 0) return 0;
  const i64 tiles = ceil_div(d.n3, P::width * P::columns * P::unroll), row_blocks = ceil_div(d.n2, P::rows * (P::threads / P::columns));
  if (tiles > 0x7fffffff || row_blocks > 0x7fffffff) return launch_too_large;
  return launch(ctx, pointwise_kernel<P, Body>, d.n0 * d.n1 * row_blocks * tiles, P::threads, d, unsigned(tiles), unsigned(row_blocks), body);
}

}  // namespace dml::gpu
