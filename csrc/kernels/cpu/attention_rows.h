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

// Maps the scores of keys [k0, k0 + n) of one row in place; lane by lane the highest of them and of `top`. A NaN does not count
// here: it stays for its exponential.
template <class M> DML_FN Floats row_tops(const M& score, i64 b, i64 h, i64 qi, i64 k0, i64 n, float* s, Floats top) {
  for_lanes(n, [&](auto l, i64 i) DML_INLINE {
    Floats x = load_floats(s + i);
    if constexpr (!same<M, NoMap>) {
      x = score.eval(l, score.fetch(l, b, h, qi, k0 + i), b, h, qi, k0 + i, x);
      store_floats(s + i, x);
    }
    top = pick_max(keep(l, x, -infinity), top);
  });
  return top;
}
// s[i] = exp(s[i] - base), and 0 from n up to a whole vector. Returns their sums, lane by lane.
DML_FN Floats row_exponentials(i64 n, float* s, float base) {
  Floats sum = splat<lanes>(0.f);
  for_lanes(n, [&](auto l, i64 i) DML_INLINE {
    const Floats e = keep(l, exp(load_floats(s + i) - splat<lanes>(base)), 0.f);
    store_floats(s + i, e);
    sum = sum + e;
  });
  return sum;
}

struct Plus {
  DML_FN Floats operator()(Floats a, Floats b) const { return a + b; }
};
struct Larger {
  DML_FN Floats operator()(Floats a, Floats b) const { return pick_max(a, b); }
};
// Lane i of the new x[0]: the lanes of x[i] taken together. Two vectors become one, and so on: about three operations a vector.
template <int D, class Op> DML_FN void fold(Floats (&x)[lanes], Op op) {
  GnuInts low, high;
#pragma GCC unroll 16
  for (int l = 0; l < lanes; l++) {
    low[l] = l & D ? lanes + l - D : l;
    high[l] = l & D ? lanes + l : l + D;
  }
#pragma GCC unroll 16
  for (int i = 0; i < D; i++) {
    GnuFloats a, b, first, second;
    __builtin_memcpy(&a, &x[i], sizeof a);
    __builtin_memcpy(&b, &x[i + D], sizeof b);
    first = __builtin_shuffle(a, b, low), second = __builtin_shuffle(a, b, high);
    Floats u, v;
    __builtin_memcpy(&u, &first, sizeof u);
    __builtin_memcpy(&v, &second, sizeof v);
    x[i] = op(u, v);
  }
  if constexpr (D > 1) fold<D / 2>(x, op);
}

}  // namespace dml::cpu
