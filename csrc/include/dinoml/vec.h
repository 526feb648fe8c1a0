// Vec<T, N>: the value type of generated expressions and of kernel templates; see csrc/README.md for the whole interface.
// The lower half is the target's (vec_cpu.h, vec_gpu.h); what is here is written with it, once for all targets.
#pragma once
#include "dinoml/port.h"
#if DML_GPU
#include "dinoml/vec_gpu.h"
#else
#include "dinoml/vec_cpu.h"
#include "dinoml/vec_cpu_memory.h"
#endif

namespace dml {

template <class S, class T, int N> DML_FN Raw<S, N> to(Vec<T, N> a) { return pack<S>(cast<compute_t<S>>(a)); }

#define DML_WITH_SCALAR(op, R)                                                                                      \
  template <class T, int N> DML_FN Vec<R, N> operator op(Vec<T, N> a, plain_t<T> b) { return a op splat<N>(b); }    \
  template <class T, int N> DML_FN Vec<R, N> operator op(plain_t<T> a, Vec<T, N> b) { return splat<N>(a) op b; }
DML_WITH_SCALAR(+, T)
DML_WITH_SCALAR(-, T)
DML_WITH_SCALAR(*, T)
DML_WITH_SCALAR(/, T)
DML_WITH_SCALAR(&, T)
DML_WITH_SCALAR(|, T)
DML_WITH_SCALAR(^, T)
DML_WITH_SCALAR(<, bool)
DML_WITH_SCALAR(<=, bool)
DML_WITH_SCALAR(>, bool)
DML_WITH_SCALAR(>=, bool)
DML_WITH_SCALAR(==, bool)
DML_WITH_SCALAR(!=, bool)
#undef DML_WITH_SCALAR
template <class T, int N> DML_FN Vec<T, N> select(Vec<bool, N> m, Vec<T, N> a, plain_t<T> b) { return select(m, a, splat<N>(b)); }
template <class T, int N> DML_FN Vec<T, N> select(Vec<bool, N> m, plain_t<T> a, Vec<T, N> b) { return select(m, splat<N>(a), b); }

template <int N> DML_FN Vec<int64_t, N> iota(int64_t first, int64_t step) {
  return make<int64_t, N>([](int i) DML_INLINE { return int64_t(i); }) * splat<N>(step) + splat<N>(first);
}

template <class T, int N> DML_FN Vec<T, N> keep(Full<N>, Vec<T, N> v, plain_t<T>) { return v; }
template <class T, int N> DML_FN Vec<T, N> keep(Part<N> l, Vec<T, N> v, plain_t<T> fill) { return select(first<N>(l.n), v, splat<N>(fill)); }

// a > b ? a : b and a < b ? a : b: where either is NaN, b. Cheaper than max and min of math.h.
template <class T, int N> DML_FN Vec<T, N> pick_max(Vec<T, N> a, Vec<T, N> b) { return pick_larger(a, b); }
template <class T, int N> DML_FN Vec<T, N> pick_min(Vec<T, N> a, Vec<T, N> b) { return pick_smaller(a, b); }
// As np.maximum and np.minimum: NaN where either is.
template <class T, int N> DML_FN Vec<T, N> max(Vec<T, N> a, Vec<T, N> b) {
  if constexpr (same<T, bool>) return a | b;
  else if constexpr (is_float<T>) return select(a != a, a, pick_max(a, b));
  else return pick_max(a, b);
}
template <class T, int N> DML_FN Vec<T, N> min(Vec<T, N> a, Vec<T, N> b) {
  if constexpr (same<T, bool>) return a & b;
  else if constexpr (is_float<T>) return select(a != a, a, pick_min(a, b));
  else return pick_min(a, b);
}
// With a scalar one instruction is enough: where the other is NaN, pick gives it.
template <class T, int N> DML_FN Vec<T, N> max(Vec<T, N> a, plain_t<T> b) { return b == b ? pick_max(splat<N>(b), a) : splat<N>(b); }
template <class T, int N> DML_FN Vec<T, N> min(Vec<T, N> a, plain_t<T> b) { return b == b ? pick_min(splat<N>(b), a) : splat<N>(b); }
template <class T, int N> DML_FN Vec<T, N> max(plain_t<T> a, Vec<T, N> b) { return max(b, a); }
template <class T, int N> DML_FN Vec<T, N> min(plain_t<T> a, Vec<T, N> b) { return min(b, a); }

// Over the lanes, halves first.
#define DML_OVER_LANES(name, combined)                                                                              \
  template <class T, int N> DML_FN T name(Vec<T, N> a) {                                                            \
    if constexpr (N == 1) return lane<0>(a);                                                                        \
    else { const Vec<T, N / 2> x = low(a), y = high(a); return name(combined); }                                    \
  }
DML_OVER_LANES(hsum, x + y)
DML_OVER_LANES(hprod, x * y)
DML_OVER_LANES(hmax, max(x, y))
DML_OVER_LANES(hmin, min(x, y))
#undef DML_OVER_LANES
template <int N> DML_FN bool hany(Vec<bool, N> a) { return any_lane(a); }
template <int N> DML_FN bool hall(Vec<bool, N> a) { return !any_lane(~a); }

}  // namespace dml
