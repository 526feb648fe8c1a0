// The operations of reduce.h. A state is what one lane knows so far: a value, or a value and where it stood.
#pragma once
#include "row.h"

namespace dml::cpu {

template <class T, int N> struct Value { Vec<T, N> v; };
template <class T, int N> struct Placed { Vec<T, N> v; Vec<int64_t, N> at; };

template <class T> DML_FN T least_of() {
  if constexpr (same<T, bool>) return false;
  else if constexpr (is_float<T>) return -T(__builtin_inff());
  else return T(typename Bits<T>::u(1) << (8 * sizeof(T) - 1));
}
template <class T> DML_FN T most_of() {
  if constexpr (same<T, bool>) return true;
  else if constexpr (is_float<T>) return T(__builtin_inff());
  else return T(~typename Bits<T>::u(0) >> 1);
}

// start(first, step): lanes that have seen nothing and stand at first, first + step, ...; take: one more value, at a place after those taken
// before; merge: of two states.
template <class Op> struct Valued {
  template <class T, int N> using State = Value<T, N>;
  template <class T> using Result = T;
  template <class T, int N> static DML_FN Value<T, N> start(i64, i64) { return {splat<N>(Op::template none<T>())}; }
  template <class T, int N> static DML_FN Value<T, N> take(Value<T, N> s, Vec<T, N> v, i64, i64) { return {Op::of(s.v, v)}; }
  template <class T, int N> static DML_FN Value<T, N> merge(Value<T, N> a, Value<T, N> b) { return {Op::of(a.v, b.v)}; }
  template <class T, int N> static DML_FN Vec<T, N> result(Value<T, N> s) { return s.v; }
};
#define DML_VALUED(name, identity, combined)                                                                        \
  struct name : Valued<name> {                                                                                      \
    template <class T> static DML_FN T none() { return identity; }                                                  \
    template <class T, int N> static DML_FN Vec<T, N> of(Vec<T, N> a, Vec<T, N> b) { return combined; }             \
  };
DML_VALUED(Sum, T(0), a + b)
DML_VALUED(Prod, T(1), a * b)
DML_VALUED(Max, least_of<T>(), max(a, b))
DML_VALUED(Min, most_of<T>(), min(a, b))
DML_VALUED(Any, false, a | b)
DML_VALUED(All, true, a & b)
#undef DML_VALUED

// The first place of the largest (smallest) value; NaN counts as the largest (smallest), as NumPy has it.
template <bool Largest> struct Arg {
  template <class T, int N> using State = Placed<T, N>;
  template <class T> using Result = int64_t;
  template <class T> static DML_FN T none() { return Largest ? least_of<T>() : most_of<T>(); }
  template <class T, int N> static DML_FN Vec<bool, N> better(Vec<T, N> b, Vec<T, N> a) {  // b than a
    if constexpr (is_float<T>) return ~(Largest ? b <= a : b >= a) & (a == a);
    else return Largest ? b > a : b < a;
  }
  template <class T, int N> static DML_FN Placed<T, N> start(i64 first, i64 step) { return {splat<N>(none<T>()), iota<N>(first, step)}; }
  template <class T, int N> static DML_FN Placed<T, N> take(Placed<T, N> s, Vec<T, N> v, i64 first, i64 step) {
    const Vec<bool, N> m = better(v, s.v);
    return {select(m, v, s.v), select(m, iota<N>(first, step), s.at)};
  }
  template <class T, int N> static DML_FN Placed<T, N> merge(Placed<T, N> a, Placed<T, N> b) {
    const Vec<bool, N> m = better(b.v, a.v) | (~better(a.v, b.v) & (b.at < a.at));
    return {select(m, b.v, a.v), select(m, b.at, a.at)};
  }
  template <class T, int N> static DML_FN Vec<int64_t, N> result(Placed<T, N> s) { return s.at; }
};
using ArgMax = Arg<true>;
using ArgMin = Arg<false>;

// The state of all lanes together.
template <class Op, class T, int N> DML_FN Value<T, 1> over_lanes(Value<T, N> s) {
  if constexpr (N == 1) return s;
  else return over_lanes<Op>(Value<T, N / 2>{Op::of(low(s.v), high(s.v))});
}
template <class Op, class T, int N> DML_FN Placed<T, 1> over_lanes(Placed<T, N> s) {
  const T best = same<Op, ArgMax> ? hmax(s.v) : hmin(s.v);  // NaN where there is one
  const Vec<bool, N> there = best == best ? s.v == splat<N>(best) : s.v != s.v;
  return {splat<1>(best), splat<1>(hmin(select(there, s.at, splat<N>(most_of<int64_t>()))))};
}

}  // namespace dml::cpu
