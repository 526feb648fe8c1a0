// What both kinds of attention are made of: dims, the map that does nothing, packing of Q, exponentials of a row.
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
  template <class L> DML_FN Vec<float, L::width> eval(L, const Got<L::width>&, i64, i64, i64, i64, Vec<float, L::width> v) const {
    return v;
  }
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
template <class S>
void pack_queries(const Strided<S>& q, const AttentionDims& d, i64 b, i64 head, i64 first, i64 count, float* to_rows, i64 ld) {
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

template <int N> DML_FN float highest(Vec<float, N> a) {  // of numbers; what NaN does here does not matter
  if constexpr (N == 1)
    return lane<0>(a);
  else
    return highest(pick_max(low(a), high(a)));
}
// Maps the scores of keys [k0, k0 + n) of one row in place; the highest of them and of `before`. A NaN does not count here: it
// stays for its exponential. The maxima of several rows come before their exponentials, or each row would wait for its own.
template <class M> DML_FN float row_maximum(const M& score, i64 b, i64 h, i64 qi, i64 k0, i64 n, float* s, float before) {
  Floats top = splat<lanes>(before);
  for_lanes(n, [&](auto l, i64 i) DML_INLINE {
    Floats x = load_floats(s + i);
    if constexpr (!same<M, NoMap>) {
      x = score.eval(l, score.fetch(l, b, h, qi, k0 + i), b, h, qi, k0 + i, x);
      store_floats(s + i, x);
    }
    top = pick_max(keep(l, x, -infinity), top);
  });
  return highest(top);
}
struct Running {
  float maximum = -infinity, sum = 0.f;
};
// s[i] = exp(s[i] - maximum), and 0 from n up to a whole vector. Returns what earlier sums of the row are to be multiplied by.
DML_FN float row_exponentials(i64 n, float* s, float maximum, Running& row) {
  const float base = maximum == -infinity ? 0.f : maximum;  // -inf - -inf would make NaN of a row with visible keys elsewhere
  const float shrink = row.maximum == -infinity ? 0.f : lane<0>(exp(Vec<float, 1>{row.maximum - base}));
  Floats sum = splat<lanes>(0.f);
  for_lanes(n, [&](auto l, i64 i) DML_INLINE {
    const Floats e = keep(l, exp(load_floats(s + i) - splat<lanes>(base)), 0.f);
    store_floats(s + i, e);
    sum = sum + e;
  });
  row.maximum = maximum, row.sum = row.sum * shrink + hsum(sum);
  return shrink;
}

}  // namespace dml::cpu
