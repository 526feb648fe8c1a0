// Softmax and its logarithm: exp(x - max) / sum, or x - max - log(sum). Float32 inside.
// Mapping: rows: P::group threads hold a row in registers, P::vectors vectors each, P::threads / P::group rows a block.
// long_rows and columns: a block walks with scratch (row.h).
// Traffic: rows: x once, y once.
// Special values as NumPy's exp(x - max(x)) / sum: a NaN or +inf makes the row NaN, so does a row of -inf only.
#pragma once
#include "row.h"

namespace dml::gpu {

struct SoftmaxDims { i64 n0, n1, n2, n3; };

template <class P, class Load, class Store> __global__ void __launch_bounds__(P::threads) softmax_rows(SoftmaxDims d, Load x, Store y) {
  constexpr int W = P::width, V = P::vectors, G = P::group;
  using F = Vec<float, W>;
  __shared__ float shared[2 * 32];
  const i64 row = i64(blockIdx.x) * (P::threads / G) + int(threadIdx.x) / G;
  if (row >= d.n0 * d.n1 * d.n2) return;  // whole groups leave together
  const Outer o = outer_of(row, d.n0, d.n1, d.n2);
  const int n = int(d.n3);
  F v[V];
  row_values<P>(x, o, n, -float_inf, v);
  Operands<P, Store> operands;
  operands.fetch_early(y, o, n);
  F best = combined<Max>(v[0], splat<W>(-float_inf));  // passes NaN over: it comes back through the sum
  DML_UNROLL for (int j = 1; j < V; j++) best = combined<Max>(v[j], best);
  const float most = group_reduce<Max, G>(over_lanes<Max>(best), shared);
  F sum = splat<W>(0.f);
  DML_UNROLL for (int j = 0; j < V; j++) {
    const F e = exp_below(v[j] - most);
    sum = sum + e;
    if constexpr (!P::log) v[j] = e;
  }
  const float total = group_reduce<Sum, G>(hsum(sum), shared + 32);
  const float scale = 1.f / total, shift = lane<0>(log(splat<1>(total)));
  deal<P>(n, [&](auto l, int j, i64 c) {
    y.put(l, operands.at(y, l, j, o, c), o.i0, o.i1, o.i2, c, P::log ? v[j] - most - shift : v[j] * scale);
  });
}

template <class P, class Load, class Store>
__global__ void __launch_bounds__(P::threads) softmax_scratch(SoftmaxDims d, float* scratch, Load x, Store y) {
  constexpr int W = P::width;
  using F = Vec<float, W>;
  using Walk = walk_t<P>;
  alignas(16) __shared__ float shared[Walk::shared_floats];
  const Walk walk(d, scratch);
  F most = splat<W>(-float_inf), sum = splat<W>(0.f);
  walk.each([&](auto l, i64 i2, i64 c, float* s) {
    const F v = keep(l, x.eval(l, x.fetch(l, walk.o.i0, walk.o.i1, i2, c), walk.o.i0, walk.o.i1, i2, c), -float_inf);
    most = combined<Max>(v, most);
    store(Full<W>{}, s, to<float>(v));
  });
  most = walk.template all<Max>(most, shared);
  walk.each([&](auto, i64, i64, float* s) {
    const F e = value(load(Full<W>{}, static_cast<const float*>(s))) - most;
    sum = sum + exp_below(e);
    store(Full<W>{}, s, to<float>(P::log ? e : exp_below(e)));
  });
  sum = walk.template all<Sum>(sum, shared);
  sum = P::log ? log(sum) : splat<W>(1.f) / sum;
  walk.each([&](auto l, i64 i2, i64 c, float* s) {
    const auto got = y.fetch(l, walk.o.i0, walk.o.i1, i2, c);
    const F e = value(load(Full<W>{}, static_cast<const float*>(s)));
    y.put(l, got, walk.o.i0, walk.o.i1, i2, c, P::log ? e - sum : e * sum);
  });
}

// P: width (lanes), form, log, threads, tail; rows: group (threads of a row), vectors (of a thread), group * vectors * width >= n3, early (row.h).
// Ports: a load accessor (float, each element once), a store accessor (each element once).
template <class P, class Load, class Store> int softmax(const dml_ctx& ctx, const SoftmaxDims& d, Load x, Store y) {
  if (d.n0 <= 0 || d.n1 <= 0 || d.n2 <= 0 || d.n3 <= 0) return 0;
  if constexpr (P::form == Form::rows) {
    static_assert(P::threads % P::group == 0 && (P::group <= 32 || P::group == P::threads), "groups of a warp, or one for the block");
    return launch(ctx, softmax_rows<P, Load, Store>, ceil_div(d.n0 * d.n1 * d.n2, P::threads / P::group), P::threads, d, x, y);
  } else return launch(ctx, softmax_scratch<P, Load, Store>, walk_t<P>::blocks(d), P::threads, d, static_cast<float*>(ctx.scratch), x, y);
}

}  // namespace dml::gpu
