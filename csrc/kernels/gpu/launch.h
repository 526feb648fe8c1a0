// What all GPU templates share: launching with the status out, and finding a thread's outer coordinates.
// Grids are counted in 64 bits and refused when they exceed what one launch can hold.
#pragma once
#include "dinoml/kernel.h"
#include "dinoml/math.h"

namespace dml::gpu {

template <class... Args> int launch(const dml_ctx& ctx, void (*kernel)(Args...), i64 blocks, int threads, Args... args) {
  if (blocks <= 0) return 0;
  if (blocks > 0x7fffffff) return launch_too_large;
  kernel<<<dim3(unsigned(blocks)), dim3(unsigned(threads)), 0, static_cast<Stream>(ctx.stream)>>>(args...);
  return launch_status();
}

DML_HD i64 ceil_div(i64 n, i64 by) { return (n + by - 1) / by; }

struct Outer { i64 i0, i1, i2; };
// Coordinates of the outer element with number o. Divisions cost more than a row's arithmetic, so the usual case has none.
DML_FN Outer outer_of(i64 o, i64 n0, i64 n1, i64 n2) {
  if (n0 == 1 && n1 == 1) return {0, 0, o};
  if (o < i64(0xffffffff) && n1 < i64(0xffffffff) && n2 < i64(0xffffffff)) {
    const uint32_t a = uint32_t(o), q = a / uint32_t(n2), i0 = q / uint32_t(n1);
    return {i64(i0), i64(q - i0 * uint32_t(n1)), i64(a - q * uint32_t(n2))};
  }
  const i64 q = o / n2;
  return {q / n1, q % n1, o % n2};
}

// How the end of a row is treated. exact: every vector of every thread exists; whole: a vector exists or not; ragged: the last
// one may be partial.
enum class Tail { exact, whole, ragged };

// fn(lanes, c) for the vector of W elements at c of a row of n, if there is one.
template <int W, Tail T, class Fn> DML_FN void at_column(i64 c, i64 n, Fn&& fn) {
  if constexpr (T == Tail::exact) fn(Full<W>{}, c);
  else if constexpr (T == Tail::whole || W == 1) {
    if (c < n) fn(Full<W>{}, c);
  } else {
    if (c + W <= n) fn(Full<W>{}, c);
    else if (c < n) fn(Part<W>{int(n - c)}, c);
  }
}

}  // namespace dml::gpu
