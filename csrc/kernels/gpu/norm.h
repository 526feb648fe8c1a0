// Norms of one coordinate: standard (x - mean) / sqrt(var + eps), rms x / sqrt(mean(x^2) + eps), l2 x / max(|x|, eps).
// Weights and what follows belong to the store accessor; what precedes, with its side outputs, to the load accessor.
// Mapping: rows: P::group threads hold a row in registers, P::vectors vectors each, P::threads / P::group rows a block.
// long_rows and columns: a block walks with scratch (row.h).
// Traffic: rows: x once, y once. Variance is corrected two-pass: it subtracts the mean of the residuals, as on CPUs.
#pragma once
#include "row.h"

namespace dml::gpu {

struct NormDims { i64 n0, n1, n2, n3; double eps; };
enum class Norm { standard, rms, l2 };

// The factor, from the sum of squares (of residuals, and their sum, for the standard norm).
template <Norm K, int N> DML_FN Vec<float, N> norm_factor(Vec<float, N> squares, Vec<float, N> residuals, float n, float eps) {
  if constexpr (K == Norm::l2) return 1.f / max(sqrt(squares), splat<N>(eps));
  else if constexpr (K == Norm::rms) return 1.f / sqrt(squares / n + eps);
  else return 1.f / sqrt(max((squares - residuals * residuals / n) / n, splat<N>(0.f)) + eps);
}

template <class P, class Load, class Store> __global__ void __launch_bounds__(P::threads) norm_rows(NormDims d, Load x, Store y) {
  constexpr int W = P::width, V = P::vectors, G = P::group;
  using F = Vec<float, W>;
  __shared__ float shared[3 * 32];
  const i64 row = i64(blockIdx.x) * (P::threads / G) + int(threadIdx.x) / G;
  if (row >= d.n0 * d.n1 * d.n2) return;  // whole groups leave together
  const Outer o = outer_of(row, d.n0, d.n1, d.n2);
  const int n = int(d.n3);
  F v[V];
  row_values<P>(x, o, n, 0.f, v);
  Operands<P, Store> operands;
  operands.fetch_early(y, o, n);
  float sums[2] = {0.f, 0.f};  // of squares, of residuals
  if constexpr (P::kind == Norm::standard) {
    F sum = v[0];
    DML_UNROLL for (int j = 1; j < V; j++) sum = sum + v[j];
    const float mean = group_reduce<Sum, G>(hsum(sum), shared + 64) / float(n);
    deal<P>(n, [&](auto l, int j, i64) { v[j] = keep(l, v[j] - mean, 0.f); });
    sum = v[0];
    DML_UNROLL for (int j = 1; j < V; j++) sum = sum + v[j];
    sums[1] = hsum(sum);
  }
  F square = v[0] * v[0];
  DML_UNROLL for (int j = 1; j < V; j++) square = madd(v[j], v[j], square);
  sums[0] = hsum(square);
  if constexpr (P::kind == Norm::standard) group_reduce<Sum, G>(sums, shared);
  else sums[0] = group_reduce<Sum, G>(sums[0], shared);
  const float factor = lane<0>(norm_factor<P::kind>(splat<1>(sums[0]), splat<1>(sums[1]), float(n), float(d.eps)));
  const float rest = sums[1] / float(n);
  deal<P>(n, [&](auto l, int j, i64 c) {
    const auto got = operands.at(y, l, j, o, c);
    if constexpr (P::kind == Norm::standard) v[j] = v[j] - rest;
    y.put(l, got, o.i0, o.i1, o.i2, c, v[j] * factor);
  });
}

template <class P, class Load, class Store>
__global__ void __launch_bounds__(P::threads) norm_scratch(NormDims d, float* scratch, Load x, Store y) {
  constexpr int W = P::width;
  using F = Vec<float, W>;
  using Walk = walk_t<P>;
  alignas(16) __shared__ float shared[Walk::shared_floats];
  const Walk walk(d, scratch);
  const float n = float(walk.count()), eps = float(d.eps);
  F sum = splat<W>(0.f), square = splat<W>(0.f), mean = splat<W>(0.f);
  walk.each([&](auto l, i64 i2, i64 c, float* s) {
    const F v = keep(l, x.eval(l, x.fetch(l, walk.o.i0, walk.o.i1, i2, c), walk.o.i0, walk.o.i1, i2, c), 0.f);
    sum = sum + v;
    square = madd(v, v, square);
    store(Full<W>{}, s, to<float>(v));
  });
  if constexpr (P::kind == Norm::standard) {
    mean = walk.template all<Sum>(sum, shared) / n;
    sum = square = splat<W>(0.f);
    walk.each([&](auto l, i64, i64, float* s) {
      const F r = keep(l, value(load(Full<W>{}, static_cast<const float*>(s))) - mean, 0.f);
      sum = sum + r;
      square = madd(r, r, square);
    });
    sum = walk.template all<Sum>(sum, shared);
  }
  const F factor = norm_factor<P::kind>(walk.template all<Sum>(square, shared), sum, n, eps), rest = sum / n;
  walk.each([&](auto l, i64 i2, i64 c, float* s) {
    const auto got = y.fetch(l, walk.o.i0, walk.o.i1, i2, c);
    F v = value(load(Full<W>{}, static_cast<const float*>(s)));
    if constexpr (P::kind == Norm::standard) v = v - mean - rest;  // their sum would be rounded where the mean is large
    y.put(l, got, walk.o.i0, walk.o.i1, i2, c, v * factor);
  });
}

// P: width (lanes), form, kind, threads, tail; rows: group (threads of a row), vectors (of a thread), group * vectors * width >= n3, early (row.h).
// Ports: a load accessor (float, each element once), a store accessor (each element once).
template <class P, class Load, class Store> int norm(const dml_ctx& ctx, const NormDims& d, Load x, Store y) {
  if (d.n0 <= 0 || d.n1 <= 0 || d.n2 <= 0 || d.n3 <= 0) return 0;
  if constexpr (P::form == Form::rows) {
    static_assert(P::threads % P::group == 0 && (P::group <= 32 || P::group == P::threads), "groups of a warp, or one for the block");
    return launch(ctx, norm_rows<P, Load, Store>, ceil_div(d.n0 * d.n1 * d.n2, P::threads / P::group), P::threads, d, x, y);
  } else return launch(ctx, norm_scratch<P, Load, Store>, walk_t<P>::blocks(d), P::threads, d, static_cast<float*>(ctx.scratch), x, y);
}

}  // namespace dml::gpu
