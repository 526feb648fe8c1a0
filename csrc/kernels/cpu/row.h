// What row kernels share: the two forms, the walk over a row, the walk over outer coordinates.
#pragma once
#include "dinoml/math.h"
#include "dinoml/parallel.h"

namespace dml::cpu {

// rows: the reduction runs along i3, lanes too. columns: it runs along i2, and each lane is another result.
enum class Form { rows, columns };

template <class V> struct Element;
template <class T, int N> struct Element<Vec<T, N>> { using type = T; };
template <class T> const T& some_value();  // never defined: for decltype
// The type that an accessor's eval computes.
template <class Load> using element_t = typename Element<decltype(some_value<Load>().eval(
    Full<1>{}, some_value<Load>().fetch(Full<1>{}, 0, 0, 0, 0), 0, 0, 0, 0))>::type;

inline constexpr i64 item_elements = 16384;  // less than this is not worth a second worker
DML_FN i64 grain_of(i64 elements_each) { return elements_each >= item_elements ? 1 : item_elements / (elements_each < 1 ? 1 : elements_each); }
DML_FN i64 round_up(i64 n, i64 to) { return (n + to - 1) / to * to; }

// fetch(lanes, c) and use(lanes, got, c, a) for [lo, hi): A vectors are fetched before the first is used; a < A names the
// accumulator, so that A additions are under way together. The last access may be partial.
template <int W, int A, class Fetch, class Use> DML_FN void across(i64 lo, i64 hi, Fetch&& fetch, Use&& use) {
  i64 c = lo;
  for (; c + W * A <= hi; c += W * A) {
    decltype(fetch(Full<W>{}, c)) got[A];
    DML_UNROLL for (int a = 0; a < A; a++) got[a] = fetch(Full<W>{}, c + a * W);
    DML_UNROLL for (int a = 0; a < A; a++) use(Full<W>{}, got[a], c + a * W, a);
  }
  if constexpr (A > 1)
    for (; c + W <= hi; c += W) use(Full<W>{}, fetch(Full<W>{}, c), c, 0);
  if (c < hi) {
    const Part<W> lanes{int(hi - c)};
    use(lanes, fetch(lanes, c), c, 0);
  }
}

// fn(i0, i1, i2) for the outer coordinates with numbers [begin, end).
template <class Fn> DML_FN void each_outer(i64 begin, i64 end, i64 n1, i64 n2, Fn&& fn) {
  i64 i2 = begin % n2, i1 = begin / n2 % n1, i0 = begin / n2 / n1;
  for (i64 o = begin; o < end; o++) {
    fn(i0, i1, i2);
    if (++i2 < n2) continue;
    i2 = 0;
    if (++i1 == n1) i1 = 0, i0++;
  }
}

// fn(Full<R>, r) for the rows [lo, hi) of a column kernel, four at a time: what belongs to a column is then loaded and
// stored once for four rows, and memory is still read in long pieces.
template <class Fn> DML_FN void down(i64 lo, i64 hi, Fn&& fn) {
  i64 r = lo;
  for (; r + 4 <= hi; r += 4) fn(Full<4>{}, r);
  for (; r < hi; r++) fn(Full<1>{}, r);
}
// Accessors of R rows, fetched together.
template <class Port, int W, int R> struct Fetched { typename Port::template Got<W> row[R]; };
template <int W, int R, class Port, class L> DML_FN Fetched<Port, W, R> fetch_rows(const Port& p, L l, i64 i0, i64 i1, i64 r, i64 c) {
  Fetched<Port, W, R> got;
  DML_UNROLL for (int k = 0; k < R; k++) got.row[k] = p.fetch(l, i0, i1, r + k, c);
  return got;
}

// Columns that a worker of a column kernel takes at a time when it keeps n2 rows of them in scratch: 512 KiB of floats, but
// 64 to 512 columns (narrower pieces of rows are latency-bound); a multiple of the lanes, of which there are 32 at most.
DML_FN i64 column_block(i64 n2) {
  const i64 fits = 131072 / (n2 < 1 ? 1 : n2) / 32 * 32;
  return fits < 64 ? 64 : fits > 512 ? 512 : fits;
}

}  // namespace dml::cpu
