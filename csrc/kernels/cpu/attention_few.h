// Attention for at most few_rows query rows of a K/V head (decoding): K and V are read once, straight from where they are.
// What the two kinds of attention share stands first: dims, the map that does nothing, packing of Q, exponentials of a row.
#pragma once
#include "dinoml/parallel.h"
#include "gemm_pack.h"

namespace dml::cpu {

struct AttentionDims {
  i64 b, h, q, k, d, dv, group;  // group: query heads that share a K/V head; it divides h
  double scale;
  i64 causal_offset;
};

struct NoMap {
  template <int N> struct Got {};
  template <class L> DML_FN Got<L::width> fetch(L, i64, i64, i64, i64) const { return {}; }
  template <class L> DML_FN Vec<float, L::width> eval(L, const Got<L::width>&, i64, i64, i64, i64, Vec<float, L::width> v) const { return v; }
};

constexpr float infinity = __builtin_inff();

template <class T> struct StorageOf;
template <class S> struct StorageOf<Strided<S>> { using type = S; };
template <class T> using storage = typename StorageOf<T>::type;

// Row r of a K/V head is query r % q of its head r / q.
struct RowOf {
  i64 head, query, queries;
  RowOf(const AttentionDims& d, i64 kv_head, i64 row) : head(kv_head * d.group + row / d.q), query(row % d.q), queries(d.q) {}
  DML_FN void next() {
    if (++query == queries) query = 0, head++;
  }
};

// Scaled here, where it costs nothing.
template <class S> void pack_queries(const Strided<S>& q, const AttentionDims& d, i64 b, i64 head, i64 first, i64 count, float* to_rows, i64 ld) {
  const Floats scale = splat<lanes>(float(d.scale));
  RowOf row(d, head, first);
  for (i64 r = 0; r < count; r++, row.next()) {
    const S* p = q.p + b * q.s0 + row.head * q.s1 + row.query * q.s2;
    for_lanes(d.d, [&](auto l, i64 i) DML_INLINE {
      const Floats x = q.s3 == 1 ? value(load(l, p + i)) : value(load_strided(l, p + i * q.s3, q.s3));
      store_floats(to_rows + r * ld + i, keep(l, x, 0.f) * scale);
    });
  }
}

struct Online {
  float maximum, sum, shrink;  // of all blocks so far; of this block; what earlier sums are multiplied by
};
template <int N> DML_FN float highest(Vec<float, N> a) {  // of numbers; what NaN does here does not matter
  if constexpr (N == 1) return lane<0>(a);
  else return highest(pick_max(low(a), high(a)));
}
// Scores of keys [k0, k0 + n) of one row: mapped, then exp(score - maximum); lanes past n become 0.
template <class M> DML_FN Online row_exponentials(const M& map, i64 b, i64 h, i64 qi, i64 k0, i64 n, float* s, float before) {
  const M score = map;
  Floats top = splat<lanes>(before);
  for_lanes(n, [&](auto l, i64 i) DML_INLINE {
    Floats x = load_floats(s + i);
    if constexpr (!same<M, NoMap>) {
      x = score.eval(l, score.fetch(l, b, h, qi, k0 + i), b, h, qi, k0 + i, x);
      store_floats(s + i, x);
    }
    top = pick_max(keep(l, x, -infinity), top);  // a NaN stays for its exponential
  });
  Online now;
  now.maximum = highest(top);
  const float base = now.maximum == -infinity ? 0.f : now.maximum;  // -inf - -inf would make NaN of a row with visible keys elsewhere
  now.shrink = before == -infinity ? 0.f : lane<0>(exp(Vec<float, 1>{before - base}));
  Floats sum = splat<lanes>(0.f);
  for_lanes(n, [&](auto l, i64 i) DML_INLINE {
    const Floats e = keep(l, exp(load_floats(s + i) - splat<lanes>(base)), 0.f);
    store_floats(s + i, e);
    sum = sum + e;
  });
  now.sum = hsum(sum);
  return now;
}

constexpr i64 few_rows = 4, few_keys = 256;

// Scratch: scaled queries, scores of a block, running sums.
template <class P> i64 few_scratch(const AttentionDims& d) { return few_rows * (packed_ld(d.d) + few_keys + packed_ld(d.dv)) * 4; }

// Sums of the lanes of x[0], x[1], ... side by side: halves are added to halves, so lanes sums cost about two additions each.
DML_FN Floats sums_of(GnuFloats (&x)[lanes]) {
  exchange<lanes / 2>(x);
  GnuFloats all = x[0];
#pragma GCC unroll 16
  for (int i = 1; i < lanes; i++) all = all + x[i];
  Floats r;
  __builtin_memcpy(&r, &all, sizeof r);
  return r;
}

// Scores of R rows against keys [k0, k0 + n), s[r * few_keys + j].
template <int R, class S> void few_scores(const Strided<S>& k, i64 d, const S* p, const float* q, i64 ldq, i64 n, float* s) {
  for (i64 j = 0; j < n; j += lanes) {
    const i64 some = least(lanes, n - j);
    GnuFloats x[R][lanes];
    for (int i = 0; i < lanes; i++) {
      const S* key = p + (j + (i < some ? i : 0)) * k.s2;
      Floats acc[R];
#pragma GCC unroll 4
      for (int r = 0; r < R; r++) acc[r] = splat<lanes>(0.f);
      for_lanes(d, [&](auto l, i64 c) DML_INLINE {
        const Floats w = k.s3 == 1 ? value(load(l, key + c)) : value(load_strided(l, key + c * k.s3, k.s3));
#pragma GCC unroll 4
        for (int r = 0; r < R; r++) acc[r] = multiply_add(keep(l, w, 0.f), load_floats(q + r * ldq + c), acc[r]);
      });
#pragma GCC unroll 4
      for (int r = 0; r < R; r++) __builtin_memcpy(&x[r][i], &acc[r], sizeof acc[r]);
    }
    for (int r = 0; r < R; r++) store_floats(s + r * few_keys + j, sums_of(x[r]));
  }
}
// o[r] += sum over n keys of s[r][j] * V[j]
template <int R, class S> void few_values(const Strided<S>& v, i64 dv, const S* p, const float* s, i64 n, float* o, i64 ldo) {
  for_lanes(dv, [&](auto l, i64 c) DML_INLINE {
    Floats acc[R];
#pragma GCC unroll 4
    for (int r = 0; r < R; r++) acc[r] = load_floats(o + r * ldo + c);
    for (i64 j = 0; j < n; j++) {
      const S* row = p + j * v.s2 + c * v.s3;
      const Floats w = v.s3 == 1 ? value(load(l, row)) : value(load_strided(l, row, v.s3));
#pragma GCC unroll 4
      for (int r = 0; r < R; r++) acc[r] = multiply_add(splat<lanes>(s[r * few_keys + j]), w, acc[r]);
    }
#pragma GCC unroll 4
    for (int r = 0; r < R; r++) store_floats(o + r * ldo + c, acc[r]);
  });
}

template <int R, class P, class Q, class K, class V, class M, class Y>
void few_head(const AttentionDims& d, const Q& q, const K& k, const V& v, const M& score, const Y& y, i64 b, i64 head, float* scratch) {
  const i64 ldq = packed_ld(d.d), ldo = packed_ld(d.dv);
  float *queries = scratch, *s = queries + few_rows * ldq, *o = s + few_rows * few_keys;
  pack_queries(q, d, b, head, 0, R, queries, ldq);
  for (i64 i = 0; i < R * ldo; i += lanes) store_floats(o + i, splat<lanes>(0.f));
  float maximum[R], sum[R];
  for (int r = 0; r < R; r++) maximum[r] = -infinity, sum[r] = 0.f;
  const i64 end = P::causal ? most(0, least(d.k, d.q + d.causal_offset)) : d.k;
  for (i64 k0 = 0; k0 < end; k0 += few_keys) {
    const i64 n = least(few_keys, end - k0);
    few_scores<R>(k, d.d, k.p + b * k.s0 + head * k.s1 + k0 * k.s2, queries, ldq, n, s);
    for (int r = 0; r < R; r++) {
      const i64 seen = P::causal ? most(0, least(n, r % d.q + d.causal_offset + 1 - k0)) : n;
      float* row = s + r * few_keys;
      const Online now = row_exponentials(score, b, head * d.group + r / d.q, r % d.q, k0, seen, row, maximum[r]);
      for (i64 i = round_up(seen, lanes); i < n; i += lanes) store_floats(row + i, splat<lanes>(0.f));
      maximum[r] = now.maximum, sum[r] = sum[r] * now.shrink + now.sum;
      for (i64 i = 0; i < ldo; i += lanes) store_floats(o + r * ldo + i, load_floats(o + r * ldo + i) * splat<lanes>(now.shrink));
    }
    few_values<R>(v, d.dv, v.p + b * v.s0 + head * v.s1 + k0 * v.s2, s, n, o, ldo);
  }
  RowOf row(d, head, 0);
  for (int r = 0; r < R; r++, row.next()) {
    const Floats over = splat<lanes>(d.k == 0 ? 0.f : 1.f / sum[r]);
    for_lanes(d.dv, [&](auto l, i64 j) DML_INLINE {
      auto got = y.fetch(l, b, row.head, row.query, j);
      y.put(l, got, b, row.head, row.query, j, load_floats(o + r * ldo + j) * over);
    });
  }
}

template <class P, class Q, class K, class V, class M, class Y>
int attention_few(const dml_ctx& ctx, const AttentionDims& d, const Q& q, const K& k, const V& v, const M& score, const Y& y) {
  const i64 heads = d.h / d.group, rows = d.group * d.q, bytes = few_scratch<P>(d);
  parallel(ctx, d.b * heads, 1, [&](i64 begin, i64 end, int worker) {
    float* scratch = worker_scratch<float>(ctx, worker, bytes);
    const auto head = [&](auto fn) { for (i64 t = begin; t < end; t++) fn(t / heads, t % heads); };
    if (rows == 1) head([&](i64 b, i64 h) { few_head<1, P>(d, q, k, v, score, y, b, h, scratch); });
    else if (rows == 2) head([&](i64 b, i64 h) { few_head<2, P>(d, q, k, v, score, y, b, h, scratch); });
    else if (rows == 3) head([&](i64 b, i64 h) { few_head<3, P>(d, q, k, v, score, y, b, h, scratch); });
    else head([&](i64 b, i64 h) { few_head<4, P>(d, q, k, v, score, y, b, h, scratch); });
  });
  return 0;
}

}  // namespace dml::cpu
