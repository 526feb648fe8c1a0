// Norms of one coordinate: standard (x - mean) / sqrt(var + eps), rms x / sqrt(mean(x^2) + eps), l2 x / max(|x|, eps).
// Weights and what follows belong to the store accessor.
// Mapping: rows (along i3): a worker takes whole rows and keeps one in scratch. columns (along i2): a worker takes a block
// of columns and keeps n2 x block in scratch; each lane is another norm.
// Traffic: x is evaluated once and read once; the other passes are over the scratch, in L1 or L2; y is written once.
// The variance is corrected two-pass: it subtracts the mean of the residuals, which also corrects the mean.
// Scratch for each worker, in bytes: rows 4 * rows_together * round_up(n3, 64); columns round_up(4 * n2 * norm_block(n2), 64).
#pragma once
#include "row.h"

namespace dml::cpu {

struct NormDims { i64 n0, n1, n2, n3; double eps; };
enum class Norm { standard, rms, l2 };

// Columns that a worker takes at a time: 128 KiB of floats, 32 to 256 columns; a multiple of the lanes, of which
// there are 32 at most.
DML_FN i64 norm_block(i64 n2) {
  const i64 fits = 32768 / (n2 < 1 ? 1 : n2) / 32 * 32;
  return fits < 32 ? 32 : fits > 256 ? 256 : fits;
}

// The factor, from the sum of squares (of residuals, and their sum, for the standard norm).
template <Norm K, int N> DML_FN Vec<float, N> norm_factor(Vec<float, N> squares, Vec<float, N> residuals, float n, float eps) {
  if constexpr (K == Norm::l2) return 1.f / max(sqrt(squares), splat<N>(eps));
  else if constexpr (K == Norm::rms) return 1.f / sqrt(squares / n + eps);
  else return 1.f / sqrt(max((squares - residuals * residuals / n) / n, splat<N>(0.f)) + eps);
}

// R rows at a time, i2 and the next: what one row waits for (its sums, a square root) the other fills.
template <int W, int R, Norm K, class Load, class Store>
DML_FN void norm_rows(const Load& x, const Store& y, i64 i0, i64 i1, i64 i2, i64 n, float eps, float* s, i64 pitch) {
  using F = Vec<float, W>;
  constexpr int A = 4;
  const Full<W> full{};
  F sum[R][A], square[R][A], factor[R], mean[R], shift[R];
  struct Rows { typename Load::template Got<W> x[R]; };
  DML_UNROLL for (int k = 0; k < R * A; k++) sum[k / A][k % A] = square[k / A][k % A] = splat<W>(0.f);
  auto total = [](const F(&part)[A]) DML_INLINE { return hsum((part[0] + part[1]) + (part[2] + part[3])); };
  across<W, A>(0, n, [&](auto l, i64 c) DML_INLINE {
        Rows got;
        DML_UNROLL for (int r = 0; r < R; r++) got.x[r] = x.fetch(l, i0, i1, i2 + r, c);
        return got;
      },
      [&](auto l, const Rows& got, i64 c, int a) DML_INLINE {
        DML_UNROLL for (int r = 0; r < R; r++) {
          const F v = keep(l, x.eval(l, got.x[r], i0, i1, i2 + r, c), 0.f);
          if constexpr (K == Norm::standard) sum[r][a] = sum[r][a] + v;
          else square[r][a] = madd(v, v, square[r][a]);
          store(full, s + r * pitch + c, to<float>(v));
        }
      });
  float residual[R] = {};
  if constexpr (K == Norm::standard) {
    DML_UNROLL for (int r = 0; r < R; r++) mean[r] = splat<W>(total(sum[r]) / float(n));
    DML_UNROLL for (int k = 0; k < R * A; k++) sum[k / A][k % A] = splat<W>(0.f);
    across<W, A>(0, n, [&](auto, i64 c) DML_INLINE { return c; },
        [&](auto l, i64, i64 c, int a) DML_INLINE {
          DML_UNROLL for (int r = 0; r < R; r++) {
            const F d = keep(l, value(load(full, static_cast<const float*>(s + r * pitch + c))) - mean[r], 0.f);
            sum[r][a] = sum[r][a] + d;
            square[r][a] = madd(d, d, square[r][a]);
          }
        });
    DML_UNROLL for (int r = 0; r < R; r++) residual[r] = total(sum[r]);
  }
  DML_UNROLL for (int r = 0; r < R; r++) {
    const Vec<float, 1> f = norm_factor<K>(splat<1>(total(square[r])), splat<1>(residual[r]), float(n), eps);
    factor[r] = splat<W>(lane<0>(f)), shift[r] = splat<W>(lane<0>(-f) * (residual[r] / float(n)));
  }
  struct Got { typename Store::template Got<W> y[R]; };
  across<W, 2>(0, n, [&](auto l, i64 c) DML_INLINE {
        Got got;
        DML_UNROLL for (int r = 0; r < R; r++) got.y[r] = y.fetch(l, i0, i1, i2 + r, c);
        return got;
      },
      [&](auto l, const Got& got, i64 c, int) DML_INLINE {
        DML_UNROLL for (int r = 0; r < R; r++) {
          const F v = value(load(full, static_cast<const float*>(s + r * pitch + c)));
          if constexpr (K == Norm::standard) y.put(l, got.y[r], i0, i1, i2 + r, c, madd(v - mean[r], factor[r], shift[r]));
          else y.put(l, got.y[r], i0, i1, i2 + r, c, v * factor[r]);
        }
      });
}

template <int W, Norm K, class Load, class Store>
DML_FN void norm_block_of_columns(const Load& x, const Store& y, i64 i0, i64 i1, i64 n2, i64 left, i64 right, float eps, float* s) {
  using F = Vec<float, W>;
  constexpr int most = 256 / W;
  const Full<W> full{};
  const i64 width = round_up(right - left, W);
  const float n = float(n2);
  F sum[most], square[most], mean[most];
  for (int v = 0; v < most; v++) sum[v] = square[v] = splat<W>(0.f);
  for (i64 r = 0; r < n2; r++)
    across<W, 2>(left, right, [&](auto l, i64 c) DML_INLINE { return x.fetch(l, i0, i1, r, c); },
        [&](auto l, const auto& got, i64 c, int) DML_INLINE {
          const F v = x.eval(l, got, i0, i1, r, c);
          const i64 at = (c - left) / W;
          if constexpr (K == Norm::standard) sum[at] = sum[at] + v;
          else square[at] = madd(v, v, square[at]);
          store(full, s + r * width + (c - left), to<float>(v));
        });
  for (i64 v = 0; v < width / W; v++) mean[v] = sum[v] / n, sum[v] = splat<W>(0.f);
  if constexpr (K == Norm::standard)
    for (i64 r = 0; r < n2; r++)
      for (i64 c = 0; c < width; c += W) {
        const F d = value(load(full, static_cast<const float*>(s + r * width + c))) - mean[c / W];
        sum[c / W] = sum[c / W] + d;
        square[c / W] = madd(d, d, square[c / W]);
      }
  for (i64 v = 0; v < width / W; v++) square[v] = norm_factor<K>(square[v], sum[v], n, eps), sum[v] = sum[v] / n;
  struct Got { Raw<float, W> v; typename Store::template Got<W> y; };
  for (i64 r = 0; r < n2; r++)
    across<W, 2>(left, right, [&](auto l, i64 c) DML_INLINE { return Got{load(full, static_cast<const float*>(s + r * width + (c - left))), y.fetch(l, i0, i1, r, c)}; },
        [&](auto l, const Got& got, i64 c, int) DML_INLINE {
          const i64 at = (c - left) / W;
          F v = value(got.v);
          if constexpr (K == Norm::standard) v = v - mean[at] - sum[at];
          y.put(l, got.y, i0, i1, r, c, v * square[at]);
        });
}

// P: width (lanes), form, kind. Ports: a load accessor (float, each element once), a store accessor (each element once).
template <class P, class Load, class Store> int norm(const dml_ctx& ctx, const NormDims& d, Load x_, Store y_) {
  constexpr int W = P::width;
  static_assert(W <= 32, "lanes");
  const float eps = float(d.eps);
  if (d.n0 <= 0 || d.n1 <= 0 || d.n2 <= 0 || d.n3 <= 0) return 0;
  if constexpr (P::form == Form::rows) {
    const i64 pitch = round_up(d.n3, 64);
    parallel(ctx, d.n0 * d.n1 * d.n2, grain_of(d.n3), [&](i64 begin, i64 end, int worker) {
      auto x = x_;
      auto y = y_;
      float* s = worker_scratch<float>(ctx, worker, 4 * rows_together * pitch);
      each_rows<rows_together>(begin, end, d.n1, d.n2, [&](auto rows, i64 i0, i64 i1, i64 i2) DML_INLINE {
        norm_rows<W, decltype(rows)::width, P::kind>(x, y, i0, i1, i2, d.n3, eps, s, pitch);
      });
    });
  } else {
    const i64 block = norm_block(d.n2), blocks = (d.n3 + block - 1) / block, bytes = round_up(4 * d.n2 * block, 64);
    parallel(ctx, d.n0 * d.n1 * blocks, grain_of(block * d.n2), [&](i64 begin, i64 end, int worker) {
      auto x = x_;
      auto y = y_;
      float* s = worker_scratch<float>(ctx, worker, bytes);
      for (i64 k = begin; k < end; k++) {
        const i64 o = k / blocks, left = k % blocks * block, right = left + block < d.n3 ? left + block : d.n3;
        norm_block_of_columns<W, P::kind>(x, y, o / d.n1, o % d.n1, d.n2, left, right, eps, s);
      }
    });
  }
  return 0;
}

}  // namespace dml::cpu
