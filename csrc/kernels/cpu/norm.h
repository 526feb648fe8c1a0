// Norms of one coordinate: standard (x - mean) / sqrt(var + eps), rms x / sqrt(mean(x^2) + eps), l2 x / max(|x|, eps).
// Weights and what follows belong to the store accessor.
// Mapping: rows (along i3): a worker takes whole rows and keeps one in scratch. columns (along i2): a worker takes a block
// of columns and keeps n2 x block in scratch; each lane is another norm.
// Traffic: x is evaluated once and read once; the other passes are over the scratch, in L1 or L2; y is written once.
// The variance is corrected two-pass: it subtracts the mean of the residuals, which also corrects the mean.
// Scratch for each worker, in bytes: rows 4 * round_up(n3, 64); columns round_up(4 * n2 * norm_block(n2), 64).
#pragma once
#include "row.h"

namespace dml::cpu {

struct NormDims { i64 n0, n1, n2, n3; double eps; };
enum class Norm { standard, rms, l2 };

DML_FN i64 norm_block(i64 n2) { return column_block(n2); }  // columns that a worker takes at a time

// The factor, from the sum of squares (of residuals, and their sum, for the standard norm).
template <Norm K, int N> DML_FN Vec<float, N> norm_factor(Vec<float, N> squares, Vec<float, N> residuals, float n, float eps) {
  if constexpr (K == Norm::l2) return 1.f / max(sqrt(squares), splat<N>(eps));
  else if constexpr (K == Norm::rms) return 1.f / sqrt(squares / n + eps);
  else return 1.f / sqrt(max((squares - residuals * residuals / n) / n, splat<N>(0.f)) + eps);
}

template <int W, Norm K, class Load, class Store>
DML_FN void norm_row(const Load& x, const Store& y, i64 i0, i64 i1, i64 i2, i64 n, float eps, float* s) {
  using F = Vec<float, W>;
  const Full<W> full{};
  F sum[4], square[4];
  DML_UNROLL for (int a = 0; a < 4; a++) sum[a] = square[a] = splat<W>(0.f);
  auto total = [](const F(&part)[4]) DML_INLINE { return hsum((part[0] + part[1]) + (part[2] + part[3])); };
  across<W, 4>(0, n, [&](auto l, i64 c) DML_INLINE { return x.fetch(l, i0, i1, i2, c); },
      [&](auto l, const auto& got, i64 c, int a) DML_INLINE {
        const F v = keep(l, x.eval(l, got, i0, i1, i2, c), 0.f);
        if constexpr (K == Norm::standard) sum[a] = sum[a] + v;
        else square[a] = madd(v, v, square[a]);
        store(full, s + c, to<float>(v));
      });
  float mean = 0, residual = 0;
  if constexpr (K == Norm::standard) {
    mean = total(sum) / float(n);
    DML_UNROLL for (int a = 0; a < 4; a++) sum[a] = splat<W>(0.f);
    across<W, 4>(0, n, [&](auto, i64 c) DML_INLINE { return load(full, static_cast<const float*>(s + c)); },
        [&](auto l, const auto& got, i64, int a) DML_INLINE {
          const F r = keep(l, value(got) - mean, 0.f);
          sum[a] = sum[a] + r;
          square[a] = madd(r, r, square[a]);
        });
    residual = total(sum);
  }
  const float factor = lane<0>(norm_factor<K>(splat<1>(total(square)), splat<1>(residual), float(n), eps));
  const F scale = splat<W>(factor), shift = splat<W>(-factor * (residual / float(n)));
  struct Got { Raw<float, W> v; typename Store::template Got<W> y; };
  across<W, 2>(0, n, [&](auto l, i64 c) DML_INLINE { return Got{load(full, static_cast<const float*>(s + c)), y.fetch(l, i0, i1, i2, c)}; },
      [&](auto l, const Got& got, i64 c, int) DML_INLINE {
        if constexpr (K == Norm::standard) y.put(l, got.y, i0, i1, i2, c, madd(value(got.v) - mean, scale, shift));
        else y.put(l, got.y, i0, i1, i2, c, value(got.v) * scale);
      });
}

template <int W, Norm K, class Load, class Store>
DML_FN void norm_columns(const Load& x, const Store& y, i64 i0, i64 i1, i64 n2, i64 left, i64 right, float eps, float* s) {
  using F = Vec<float, W>;
  constexpr int most = 512 / W;
  const Full<W> full{};
  const i64 width = round_up(right - left, W);
  const float n = float(n2);
  F sum[most], square[most], mean[most];
  for (int v = 0; v < most; v++) sum[v] = square[v] = splat<W>(0.f);
  auto held = [&](i64 r, i64 c) DML_INLINE { return s + r * width + (c - left); };
  down(0, n2, [&](auto rows, i64 r) DML_INLINE {
    constexpr int R = decltype(rows)::width;
    across<W, 1>(left, right, [&](auto l, i64 c) DML_INLINE { return fetch_rows<W, R>(x, l, i0, i1, r, c); },
        [&](auto l, const auto& got, i64 c, int) DML_INLINE {
          F& into = K == Norm::standard ? sum[(c - left) / W] : square[(c - left) / W];
          F part = into;
          DML_UNROLL for (int k = 0; k < R; k++) {
            const F v = x.eval(l, got.row[k], i0, i1, r + k, c);
            part = K == Norm::standard ? part + v : madd(v, v, part);
            store(full, held(r + k, c), to<float>(v));
          }
          into = part;
        });
  });
  for (i64 v = 0; v < width / W; v++) mean[v] = sum[v] / n, sum[v] = splat<W>(0.f);
  if constexpr (K == Norm::standard)
    down(0, n2, [&](auto rows, i64 r) DML_INLINE {
      for (i64 c = left; c < left + width; c += W) {
        const i64 at = (c - left) / W;
        F some = sum[at], squares = square[at];
        DML_UNROLL for (int k = 0; k < decltype(rows)::width; k++) {
          const F d = value(load(full, static_cast<const float*>(held(r + k, c)))) - mean[at];
          some = some + d, squares = madd(d, d, squares);
        }
        sum[at] = some, square[at] = squares;
      }
    });
  for (i64 v = 0; v < width / W; v++) square[v] = norm_factor<K>(square[v], sum[v], n, eps), sum[v] = -square[v] * (sum[v] / n);
  down(0, n2, [&](auto rows, i64 r) DML_INLINE {
    constexpr int R = decltype(rows)::width;
    across<W, 1>(left, right, [&](auto l, i64 c) DML_INLINE { return fetch_rows<W, R>(y, l, i0, i1, r, c); },
        [&](auto l, const auto& got, i64 c, int) DML_INLINE {
          const i64 at = (c - left) / W;
          const F centre = mean[at], scale = square[at], shift = sum[at];
          DML_UNROLL for (int k = 0; k < R; k++) {
            const F v = value(load(full, static_cast<const float*>(held(r + k, c))));
            if constexpr (K == Norm::standard) y.put(l, got.row[k], i0, i1, r + k, c, madd(v - centre, scale, shift));
            else y.put(l, got.row[k], i0, i1, r + k, c, v * scale);
          }
        });
  });
}

// P: width (lanes), form, kind. Ports: a load accessor (float, each element once), a store accessor (each element once).
template <class P, class Load, class Store> int norm(const dml_ctx& ctx, const NormDims& d, Load x_, Store y_) {
  constexpr int W = P::width;
  static_assert(W <= 32, "lanes");
  const float eps = float(d.eps);
  if (d.n0 <= 0 || d.n1 <= 0 || d.n2 <= 0 || d.n3 <= 0) return 0;
  if constexpr (P::form == Form::rows) {
    const i64 bytes = 4 * round_up(d.n3, 64);
    parallel(ctx, d.n0 * d.n1 * d.n2, grain_of(d.n3), [&](i64 begin, i64 end, int worker) {
      auto x = x_;
      auto y = y_;
      float* s = worker_scratch<float>(ctx, worker, bytes);
      each_outer(begin, end, d.n1, d.n2, [&](i64 i0, i64 i1, i64 i2) DML_INLINE { norm_row<W, P::kind>(x, y, i0, i1, i2, d.n3, eps, s); });
    });
  } else {
    const i64 block = norm_block(d.n2), blocks = (d.n3 + block - 1) / block, bytes = round_up(4 * d.n2 * block, 64);
    parallel(ctx, d.n0 * d.n1 * blocks, grain_of(block * d.n2), [&](i64 begin, i64 end, int worker) {
      auto x = x_;
      auto y = y_;
      float* s = worker_scratch<float>(ctx, worker, bytes);
      for (i64 k = begin; k < end; k++) {
        const i64 o = k / blocks, left = k % blocks * block, right = left + block < d.n3 ? left + block : d.n3;
        norm_columns<W, P::kind>(x, y, o / d.n1, o % d.n1, d.n2, left, right, eps, s);
      }
    });
  }
  return 0;
}

}  // namespace dml::cpu
