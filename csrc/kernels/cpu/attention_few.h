// Attention for at most few_rows query rows of a K/V head (decoding): K and V are read once, straight from where they are.
// Keys are cut into parts of a fixed length, so that few heads still make work for many workers (and the result does not depend
// on their number): each part leaves its sums and maximum in the shared scratch, and a second loop puts the parts together.
#pragma once
#include "attention_rows.h"

namespace dml::cpu {

constexpr i64 few_rows = 4, few_keys = 256, few_part = 1024;  // rows; keys whose scores are held at a time; keys of a part

struct FewScratch {
  i64 ldq, ldo, rows, parts, slot, shared, each;  // floats; slot: what a part leaves behind for one row
  explicit FewScratch(const AttentionDims& d) {
    ldq = packed_ld(d.d), ldo = packed_ld(d.dv), rows = d.group * d.q;
    parts = most(1, ceil_div(d.k, few_part)), slot = ldo + 16;
    shared = parts == 1 ? 0 : d.b * (d.h / d.group) * parts * rows * slot;
    each = few_rows * (ldq + few_keys + ldo);
  }
};

// Sums of the lanes of x[0], x[1], ... side by side: two vectors become one, and so on.
template <int D> DML_FN void fold(GnuFloats (&x)[lanes]) {
  const auto halves = [] {
    struct {
      GnuInts low, high;
    } h{};
    for (int l = 0; l < lanes; l++) {
      h.low[l] = l & D ? lanes + l - D : l;
      h.high[l] = l & D ? lanes + l : l + D;
    }
    return h;
  }();
#pragma GCC unroll 16
  for (int i = 0; i < D; i++) {
    const GnuFloats a = x[i], b = x[i + D];
    x[i] = __builtin_shuffle(a, b, halves.low) + __builtin_shuffle(a, b, halves.high);
  }
  if constexpr (D > 1) fold<D / 2>(x);
}

// Scores of R rows against n keys from p, s[r * few_keys + j].
template <int R, class S> void few_scores(const Strided<S>& k, i64 d, const S* p, const float* q, i64 ldq, i64 n, float* s) {
  for (i64 j = 0; j < n; j += lanes) {
    GnuFloats x[R][lanes];
#pragma GCC unroll 2
    for (int i = 0; i < lanes; i++) {
      const S* key = p + least(j + i, n - 1) * k.s2;
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
    for (int r = 0; r < R; r++) {
      fold<lanes / 2>(x[r]);
      __builtin_memcpy(s + r * few_keys + j, &x[r][0], sizeof x[r][0]);
    }
  }
}
// o[r] += sum over n keys of s[r][j] * V[j], for C vectors of columns.
template <int R, int C, class L, class S>
DML_FN void few_columns(L l, i64 stride, i64 step, const S* p, const float* s, i64 n, float* o, i64 ldo) {
  Floats acc[R][C];
#pragma GCC unroll 16
  for (int i = 0; i < R * C; i++) acc[i / C][i % C] = load_floats(o + i / C * ldo + i % C * lanes);
  for (i64 j = 0; j < n; j++) {
#pragma GCC unroll 4
    for (int c = 0; c < C; c++) {
      const S* at = p + j * stride + c * lanes * step;
      const Floats w = step == 1 ? value(load(l, at)) : value(load_strided(l, at, step));
#pragma GCC unroll 4
      for (int r = 0; r < R; r++) acc[r][c] = multiply_add(splat<lanes>(s[r * few_keys + j]), w, acc[r][c]);
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < R * C; i++) store_floats(o + i / C * ldo + i % C * lanes, acc[i / C][i % C]);
}
template <int R, class S> void few_values(const Strided<S>& v, i64 dv, const S* p, const float* s, i64 n, float* o, i64 ldo) {
  i64 c = 0;
  for (; c + 4 * lanes <= dv; c += 4 * lanes) few_columns<R, 4>(Full<lanes>{}, v.s2, v.s3, p + c * v.s3, s, n, o + c, ldo);
  for_lanes(dv - c, [&](auto l, i64 i) DML_INLINE { few_columns<R, 1>(l, v.s2, v.s3, p + (c + i) * v.s3, s, n, o + c + i, ldo); });
}

template <class Y> void few_store(const Y& accessor, const AttentionDims& d, i64 b, i64 head, int r, const float* o, float over) {
  const Y y = accessor;
  const RowOf row(d, head, r);
  for_lanes(d.dv, [&](auto l, i64 j) DML_INLINE {
    auto got = y.fetch(l, b, row.head, row.query, j);
    y.put(l, got, b, row.head, row.query, j, load_floats(o + j) * splat<lanes>(over));
  });
}

// Keys [from, to) for the R rows of a head: sums into o, maximum and sum of exponentials into running.
template <int R, class P, class Q, class K, class V, class M>
void few_keys_of(const AttentionDims& d, const Q& q, const K& k, const V& v, const M& map, i64 b, i64 head, i64 from, i64 to,
                 const FewScratch& sizes, float* scratch, Running* running, float* o) {
  const M score = map;
  float *queries = scratch, *s = queries + few_rows * sizes.ldq;
  pack_queries(q, d, b, head, 0, R, queries, sizes.ldq);
  for (i64 i = 0; i < R * sizes.ldo; i += lanes) store_floats(o + i, splat<lanes>(0.f));
  if (P::causal) to = least(to, d.q + d.causal_offset);
  for (i64 k0 = from; k0 < to; k0 += few_keys) {
    const i64 n = least(few_keys, to - k0);
    few_scores<R>(k, d.d, k.p + b * k.s0 + head * k.s1 + k0 * k.s2, queries, sizes.ldq, n, s);
    RowOf row(d, head, 0);
    for (int r = 0; r < R; r++, row.next()) {
      const i64 seen = P::causal ? most(0, least(n, row.query + d.causal_offset + 1 - k0)) : n;
      float *scores = s + r * few_keys, *sums = o + r * sizes.ldo;
      const float maximum = row_maximum(score, b, row.head, row.query, k0, seen, scores, running[r].maximum);
      const Floats shrink = splat<lanes>(row_exponentials(seen, scores, maximum, running[r]));
      for (i64 i = rounded_up(seen, lanes); i < n; i += lanes) store_floats(scores + i, splat<lanes>(0.f));
      for (i64 i = 0; i < sizes.ldo; i += lanes) store_floats(sums + i, load_floats(sums + i) * shrink);
    }
    few_values<R>(v, d.dv, v.p + b * v.s0 + head * v.s1 + k0 * v.s2, s, n, o, sizes.ldo);
  }
}

// Slots of one row, a part each, become one result.
template <class Y> void few_join(const Y& y, const AttentionDims& d, const FewScratch& sizes, i64 b, i64 head, int r, float* slots) {
  const i64 next = sizes.rows * sizes.slot;  // from part to part
  float maximum = -infinity, sum = 0.f;
  for (i64 part = 0; part < sizes.parts; part++) {
    const float m = slots[part * next + sizes.ldo];
    maximum = m > maximum || m != m ? m : maximum;
  }
  const float base = maximum == -infinity ? 0.f : maximum;
  for (i64 part = 0; part < sizes.parts; part++) {
    float* from = slots + part * next;
    const float weight = lane<0>(exp(Vec<float, 1>{from[sizes.ldo] - base}));
    sum += from[sizes.ldo + 1] * weight;
    for (i64 i = 0; i < sizes.ldo; i += lanes) {
      const Floats add = load_floats(from + i) * splat<lanes>(weight);
      store_floats(slots + i, part == 0 ? add : load_floats(slots + i) + add);
    }
  }
  few_store(y, d, b, head, r, slots, sum == 0.f ? 0.f : 1.f / sum);
}

template <int R, class P, class Q, class K, class V, class M, class Y>
int few(const dml_ctx& ctx, const AttentionDims& d, const Q& q, const K& k, const V& v, const M& score, const Y& y) {
  const FewScratch sizes(d);
  const i64 heads = d.h / d.group, parts = sizes.parts;
  float* slots = static_cast<float*>(ctx.scratch);
  parallel(ctx, d.b * heads * parts, 1, [&](i64 begin, i64 end, int worker) {
    float* scratch = slots + sizes.shared + worker * sizes.each;
    for (i64 t = begin; t < end; t++) {
      const i64 part = t % parts, b = t / parts / heads, head = t / parts % heads;
      float* o = scratch + few_rows * (sizes.ldq + few_keys);
      Running running[R];
      few_keys_of<R, P>(d, q, k, v, score, b, head, part * few_part, least(d.k, (part + 1) * few_part), sizes, scratch, running, o);
      for (int r = 0; r < R; r++) {
        const float* sums = o + r * sizes.ldo;
        if (parts == 1)
          few_store(y, d, b, head, r, sums, running[r].sum == 0.f ? 0.f : 1.f / running[r].sum);
        else {
          float* slot = slots + (t * R + r) * sizes.slot;
          for (i64 i = 0; i < sizes.ldo; i += lanes) store_floats(slot + i, load_floats(sums + i));
          slot[sizes.ldo] = running[r].maximum, slot[sizes.ldo + 1] = running[r].sum;
        }
      }
    }
  });
  if (parts > 1)
    parallel(ctx, d.b * heads, 1, [&](i64 begin, i64 end, int) {
      for (i64 t = begin; t < end; t++)
        for (int r = 0; r < R; r++) few_join(y, d, sizes, t / heads, t % heads, r, slots + (t * parts * R + r) * sizes.slot);
    });
  return 0;
}

template <class P, class Q, class K, class V, class M, class Y>
int attention_few(const dml_ctx& ctx, const AttentionDims& d, const Q& q, const K& k, const V& v, const M& score, const Y& y) {
  switch (d.group * d.q) {
    case 1: return few<1, P>(ctx, d, q, k, v, score, y);
    case 2: return few<2, P>(ctx, d, q, k, v, score, y);
    case 3: return few<3, P>(ctx, d, q, k, v, score, y);
    default: return few<4, P>(ctx, d, q, k, v, score, y);
  }
}

}  // namespace dml::cpu
