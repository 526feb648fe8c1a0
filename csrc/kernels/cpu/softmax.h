// Softmax and its logarithm: exp(x - max) / sum, or x - max - log(sum). Float32 inside.
// Mapping: rows (along i3): a worker takes whole rows and keeps one in scratch. columns (along i2): a worker takes a block
// of columns and keeps n2 x block in scratch; each lane is another softmax.
// Traffic: x is evaluated once and read once; three passes over the scratch, which stays in L1 or L2; y is written once.
// Special values as NumPy's exp(x - max(x)) / sum: a NaN or +inf makes the row NaN, so does a row of -inf only.
// Scratch for each worker, in bytes, rounded up to 64: rows 4 * round_up(n3, 64); columns 4 * n2 * softmax_block(n2).
#pragma once
#include "row.h"

namespace dml::cpu {

struct SoftmaxDims { i64 n0, n1, n2, n3; };

DML_FN i64 softmax_block(i64 n2) { return column_block(n2); }  // columns that a worker takes at a time

// One row: s holds it. Lanes past the end are exp(-inf - max) = 0 in the sum.
template <int W, bool Log, class Load, class Store> DML_FN void softmax_row(const Load& x, const Store& y, i64 i0, i64 i1, i64 i2, i64 n, float* s) {
  using F = Vec<float, W>;
  const Full<W> full{};
  F m[4], z[4];
  DML_UNROLL for (int a = 0; a < 4; a++) m[a] = splat<W>(-float_inf), z[a] = splat<W>(0.f);
  across<W, 4>(0, n, [&](auto l, i64 c) DML_INLINE { return x.fetch(l, i0, i1, i2, c); },
      [&](auto l, const auto& got, i64 c, int a) DML_INLINE {
        const F v = keep(l, x.eval(l, got, i0, i1, i2, c), -float_inf);
        m[a] = pick_max(v, m[a]);  // passes NaN over: it comes back through the sum
        store(full, s + c, to<float>(v));
      });
  const F most = splat<W>(hmax(pick_max(pick_max(m[0], m[1]), pick_max(m[2], m[3]))));
  across<W, 4>(0, round_up(n, W), [&](auto l, i64 c) DML_INLINE { return load(l, static_cast<const float*>(s + c)); },
      [&](auto l, const auto& got, i64 c, int a) DML_INLINE {
        const F e = exp_below(value(got) - most);
        z[a] = z[a] + e;
        if constexpr (!Log) store(l, s + c, to<float>(e));
      });
  const float sum = hsum((z[0] + z[1]) + (z[2] + z[3]));
  const F scale = splat<W>(1.f / sum), shift = log(splat<W>(sum));
  struct Got { Raw<float, W> e; typename Store::template Got<W> y; };
  across<W, 2>(0, n, [&](auto l, i64 c) DML_INLINE { return Got{load(full, static_cast<const float*>(s + c)), y.fetch(l, i0, i1, i2, c)}; },
      [&](auto l, const Got& got, i64 c, int) DML_INLINE {
        if constexpr (Log) y.put(l, got.y, i0, i1, i2, c, value(got.e) - most - shift);
        else y.put(l, got.y, i0, i1, i2, c, value(got.e) * scale);
      });
}

template <int W, bool Log, class Load, class Store>
DML_FN void softmax_columns(const Load& x, const Store& y, i64 i0, i64 i1, i64 n2, i64 left, i64 right, float* s) {
  using F = Vec<float, W>;
  constexpr int most = 512 / W;
  const Full<W> full{};
  const i64 width = round_up(right - left, W);
  F m[most], z[most];
  for (int v = 0; v < most; v++) m[v] = splat<W>(-float_inf), z[v] = splat<W>(0.f);
  auto held = [&](i64 r, i64 c) DML_INLINE { return s + r * width + (c - left); };
  down(0, n2, [&](auto rows, i64 r) DML_INLINE {
    constexpr int R = decltype(rows)::width;
    across<W, 1>(left, right, [&](auto l, i64 c) DML_INLINE { return fetch_rows<W, R>(x, l, i0, i1, r, c); },
        [&](auto l, const auto& got, i64 c, int) DML_INLINE {
          F best = m[(c - left) / W];
          DML_UNROLL for (int k = 0; k < R; k++) {
            const F v = x.eval(l, got.row[k], i0, i1, r + k, c);
            best = pick_max(v, best);
            store(full, held(r + k, c), to<float>(v));
          }
          m[(c - left) / W] = best;
        });
  });
  down(0, n2, [&](auto rows, i64 r) DML_INLINE {
    constexpr int R = decltype(rows)::width;
    for (i64 c = left; c < left + width; c += W) {
      const F most_of_column = m[(c - left) / W];
      F e[R];
      DML_UNROLL for (int k = 0; k < R; k++) {
        e[k] = exp_below(value(load(full, static_cast<const float*>(held(r + k, c)))) - most_of_column);
        if constexpr (!Log) store(full, held(r + k, c), to<float>(e[k]));
      }
      F& sum = z[(c - left) / W];
      if constexpr (R == 4) sum = sum + ((e[0] + e[1]) + (e[2] + e[3]));
      else sum = sum + e[0];
    }
  });
  for (i64 v = 0; v < width / W; v++) z[v] = Log ? log(z[v]) : 1.f / z[v];
  down(0, n2, [&](auto rows, i64 r) DML_INLINE {
    constexpr int R = decltype(rows)::width;
    across<W, 1>(left, right, [&](auto l, i64 c) DML_INLINE { return fetch_rows<W, R>(y, l, i0, i1, r, c); },
        [&](auto l, const auto& got, i64 c, int) DML_INLINE {
          const F most_of_column = m[(c - left) / W], factor = z[(c - left) / W];
          DML_UNROLL for (int k = 0; k < R; k++) {
            const F v = value(load(full, static_cast<const float*>(held(r + k, c))));
            if constexpr (Log) y.put(l, got.row[k], i0, i1, r + k, c, v - most_of_column - factor);
            else y.put(l, got.row[k], i0, i1, r + k, c, v * factor);
          }
        });
  });
}

// P: width (lanes), form, log. Ports: a load accessor (float, each element once), a store accessor (each element once).
template <class P, class Load, class Store> int softmax(const dml_ctx& ctx, const SoftmaxDims& d, Load x_, Store y_) {
  constexpr int W = P::width;
  static_assert(W <= 32, "lanes");
  if (d.n0 <= 0 || d.n1 <= 0 || d.n2 <= 0 || d.n3 <= 0) return 0;
  if constexpr (P::form == Form::rows) {
    const i64 bytes = 4 * round_up(d.n3, 64);
    parallel(ctx, d.n0 * d.n1 * d.n2, grain_of(4 * d.n3), [&](i64 begin, i64 end, int worker) {
      auto x = x_;
      auto y = y_;
      float* s = worker_scratch<float>(ctx, worker, bytes);
      each_outer(begin, end, d.n1, d.n2, [&](i64 i0, i64 i1, i64 i2) DML_INLINE { softmax_row<W, P::log>(x, y, i0, i1, i2, d.n3, s); });
    });
  } else {
    const i64 block = softmax_block(d.n2), blocks = (d.n3 + block - 1) / block, bytes = round_up(4 * d.n2 * block, 64);
    parallel(ctx, d.n0 * d.n1 * blocks, grain_of(4 * block * d.n2), [&](i64 begin, i64 end, int worker) {
      auto x = x_;
      auto y = y_;
      float* s = worker_scratch<float>(ctx, worker, bytes);
      for (i64 k = begin; k < end; k++) {
        const i64 o = k / blocks, left = k % blocks * block, right = left + block < d.n3 ? left + block : d.n3;
        softmax_columns<W, P::log>(x, y, o / d.n1, o % d.n1, d.n2, left, right, s);
      }
    });
  }
  return 0;
}

}  // namespace dml::cpu
