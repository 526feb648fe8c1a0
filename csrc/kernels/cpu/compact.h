// Compaction: the values of x whose mask holds, in order, at the front of the result; count is how many there are.
// Mapping: one worker, one pass, since each place depends on all masks before it.
// Traffic: x and mask once, the chosen values once.
#pragma once
#include "dinoml/parallel.h"
#include "dinoml/vec.h"

namespace dml::cpu {

struct CompactDims { i64 n0, n1, n2, n3; };  // all elements lie along n3

template <class P, class X, class Mask, class Y, class Count> int compact(const dml_ctx&, const CompactDims& d, X x, Mask mask, Y y, Count count) {
  const Full<1> one{};
  i64 n = 0;
  for (i64 i = 0; i < d.n3; i++) {
    if (!lane<0>(mask.eval(one, mask.fetch(one, 0, 0, 0, i), 0, 0, 0, i))) continue;
    y.put(one, y.fetch(one, 0, 0, 0, n), 0, 0, 0, n, x.eval(one, x.fetch(one, 0, 0, 0, i), 0, 0, 0, i));
    n++;
  }
  count.put(one, count.fetch(one, 0, 0, 0, 0), 0, 0, 0, 0, splat<1>(int64_t(n)));
  return 0;
}

}  // namespace dml::cpu
