// The k largest (or smallest) of each row with their places, best first; equal values in the order of their places; NaN
// counts as the largest.
// Mapping: a worker takes whole rows, lanes along i3. A heap of the k best so far holds its worst on top; a vector is
// compared with it at once, and only lanes that beat it are looked at one by one: n / lanes comparisons and, for values in
// random order, k log(n / k) insertions of log k; n log k at worst.
// Traffic: each element once, k values and places written.
// Scratch for each worker, in bytes: 24 * k, rounded up to 64.
#pragma once
#include "row.h"

namespace dml::cpu {

struct TopkDims { i64 n0, n1, n2, n3, k; };

template <class I> DML_FN I most_integer() { return I(~typename Bits<I>::u(0) >> 1); }

template <class T> struct TopkEntry { int64_t key, place; T v; };

// Integers in the order of T: -0 with +0, any NaN above all; turned around for the smallest.
template <bool Largest, class T, int N> DML_FN auto topk_key(Vec<T, N> v) {
  if constexpr (is_float<T>) {
    using I = typename Bits<T>::s;
    const Vec<I, N> u = bitcast<I>(v + T(0)), ordered = select(u < splat<N>(I(0)), u ^ splat<N>(most_integer<I>()), u);
    const Vec<I, N> key = select(v != v, splat<N>(most_integer<I>()), ordered);
    if constexpr (Largest) return key;
    else return ~key;
  } else if constexpr (Largest) return v;
  else return ~v;
}

// Whether a comes after b in the result.
template <class E> DML_FN bool topk_worse(const E& a, const E& b) { return a.key < b.key || (a.key == b.key && a.place > b.place); }

template <class E> inline void topk_sink(E* heap, i64 n, i64 at) {  // restores "no child is worse" below at
  const E moved = heap[at];
  for (i64 child = 2 * at + 1; child < n; child = 2 * at + 1) {
    if (child + 1 < n && topk_worse(heap[child + 1], heap[child])) child++;
    if (!topk_worse(heap[child], moved)) break;
    heap[at] = heap[child];
    at = child;
  }
  heap[at] = moved;
}

template <class T> struct TopkHeap {
  TopkEntry<T>* entries;
  i64 k, held;
  DML_FN void offer(int64_t key, i64 place, T v) {
    if (held < k) {
      entries[held++] = {key, place, v};
      if (held == k)
        for (i64 at = k / 2; at-- > 0;) topk_sink(entries, k, at);
    } else if (key > entries[0].key) {  // an equal one stands further back
      entries[0] = {key, place, v};
      topk_sink(entries, k, 0);
    }
  }
  inline void sort() {  // best first
    if (held < k)
      for (i64 at = held / 2; at-- > 0;) topk_sink(entries, held, at);
    for (i64 n = held; n > 1; n--) {
      const TopkEntry<T> worst = entries[0];
      entries[0] = entries[n - 1];
      entries[n - 1] = worst;
      topk_sink(entries, n - 1, 0);
    }
  }
};

template <int W, bool Largest, class T, class Load> DML_FN void topk_row(const Load& x, i64 i0, i64 i1, i64 i2, i64 n, TopkHeap<T>& heap) {
  across<W, 2>(0, n, [&](auto l, i64 c) DML_INLINE { return x.fetch(l, i0, i1, i2, c); },
      [&](auto l, const auto& got, i64 c, int) DML_INLINE {
        const Vec<T, W> v = x.eval(l, got, i0, i1, i2, c);
        const auto key = topk_key<Largest>(v);
        using I = typename Element<decltype(topk_key<Largest>(v))>::type;
        if (heap.held == heap.k && !hany(key > splat<W>(I(heap.entries[0].key)))) return;
        T values[W];
        I keys[W];
        spread(v, values), spread(key, keys);
        const int count = int(n - c < W ? n - c : W);
        for (int i = 0; i < count; i++) heap.offer(keys[i], c + i, values[i]);
      });
}

// P: width (lanes), largest. Ports: a load accessor; two store accessors, put at (i0, i1, i2, j) for j < k: the values and
// their places (int64). k <= n3.
template <class P, class Load, class Values, class Places> int topk(const dml_ctx& ctx, const TopkDims& d, Load x_, Values values_, Places places_) {
  using T = element_t<Load>;
  if (d.n0 <= 0 || d.n1 <= 0 || d.n2 <= 0 || d.n3 <= 0 || d.k <= 0) return 0;
  const i64 bytes = round_up(i64(sizeof(TopkEntry<T>)) * d.k, 64);
  parallel(ctx, d.n0 * d.n1 * d.n2, grain_of(2 * d.n3), [&](i64 begin, i64 end, int worker) {
    auto x = x_;
    auto values = values_;
    auto places = places_;
    const Full<1> one{};
    each_outer(begin, end, d.n1, d.n2, [&](i64 i0, i64 i1, i64 i2) DML_INLINE {
      TopkHeap<T> heap{worker_scratch<TopkEntry<T>>(ctx, worker, bytes), d.k, 0};
      topk_row<P::width, P::largest>(x, i0, i1, i2, d.n3, heap);
      heap.sort();
      for (i64 j = 0; j < heap.held; j++) {
        values.put(one, values.fetch(one, i0, i1, i2, j), i0, i1, i2, j, splat<1>(heap.entries[j].v));
        places.put(one, places.fetch(one, i0, i1, i2, j), i0, i1, i2, j, splat<1>(heap.entries[j].place));
      }
    });
  });
  return 0;
}

}  // namespace dml::cpu
