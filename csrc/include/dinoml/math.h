// The primitives of the expression language over Vec. NumPy's meaning; NaN propagates; integers wrap.
// ulp: the largest error of float32 functions on CPUs, in units of the last place of the result (tests/native/ulp.cpp
// fails above these; in brackets the bound of targets without fused multiply-add, where it is larger).
//   + - * / fma sqrt rcp floor ceil trunc rint cast   0.5 (correctly rounded)
//   rsqrt     1.5  (1 / sqrt, two rounded steps)
//   exp       1    [1.2] (subnormal results too)
//   expm1     2
//   log       1
//   log1p     3
//   log2      2
//   tanh      2
//   erf       2
//   sigmoid   3
//   sin cos   2    (whole range)
//   pow       1
//   mod fmod  0    (exact)
// GPUs call their device libraries; an H200 was measured within these bounds but for exp (1.9) and sigmoid (3.3).
#pragma once
#include "dinoml/vec.h"
#if !DML_GPU
#include "dinoml/math_cpu.h"
#endif

namespace dml {

// ------------------------------------------------------------------------------------------------ any type
template <class T, int N> DML_FN Vec<T, N> neg(Vec<T, N> a) { return -a; }
template <class T, int N> DML_FN Vec<T, N> abs(Vec<T, N> a) {
  if constexpr (is_float<T>) {
    using I = typename Bits<T>::s;
    return bitcast<T>(bitcast<I>(a) & splat<N>(I(~typename Bits<T>::u(0) >> 1)));
  } else return max(a, -a);
}
template <class T, int N> DML_FN Vec<T, N> sign(Vec<T, N> a) {
  const Vec<T, N> zero = splat<N>(T(0)), one = splat<N>(T(1)), flat = select(a > zero, one, select(a < zero, -one, zero));
  if constexpr (is_float<T>) return select(a != a, a, flat);
  else return flat;
}
template <class T, int N> DML_FN Vec<bool, N> eq(Vec<T, N> a, Vec<T, N> b) { return a == b; }
template <class T, int N> DML_FN Vec<bool, N> ne(Vec<T, N> a, Vec<T, N> b) { return a != b; }
template <class T, int N> DML_FN Vec<bool, N> lt(Vec<T, N> a, Vec<T, N> b) { return a < b; }
template <class T, int N> DML_FN Vec<bool, N> le(Vec<T, N> a, Vec<T, N> b) { return a <= b; }
template <class T, int N> DML_FN Vec<bool, N> gt(Vec<T, N> a, Vec<T, N> b) { return a > b; }
template <class T, int N> DML_FN Vec<bool, N> ge(Vec<T, N> a, Vec<T, N> b) { return a >= b; }

// ------------------------------------------------------------------------------------------------ masks, integers
template <int N> DML_FN Vec<bool, N> logical_and(Vec<bool, N> a, Vec<bool, N> b) { return a & b; }
template <int N> DML_FN Vec<bool, N> logical_or(Vec<bool, N> a, Vec<bool, N> b) { return a | b; }
template <int N> DML_FN Vec<bool, N> logical_xor(Vec<bool, N> a, Vec<bool, N> b) { return a ^ b; }
template <int N> DML_FN Vec<bool, N> logical_not(Vec<bool, N> a) { return ~a; }
template <class T, int N> DML_FN Vec<T, N> bit_and(Vec<T, N> a, Vec<T, N> b) { return a & b; }
template <class T, int N> DML_FN Vec<T, N> bit_or(Vec<T, N> a, Vec<T, N> b) { return a | b; }
template <class T, int N> DML_FN Vec<T, N> bit_xor(Vec<T, N> a, Vec<T, N> b) { return a ^ b; }
template <class T, int N> DML_FN Vec<T, N> bit_not(Vec<T, N> a) { return ~a; }

// ------------------------------------------------------------------------------------------------ floats
template <class T, int N> DML_FN Vec<bool, N> isnan(Vec<T, N> a) { return a != a; }
template <class T, int N> DML_FN Vec<bool, N> isinf(Vec<T, N> a) { return abs(a) == splat<N>(T(__builtin_inff())); }
template <class T, int N> DML_FN Vec<bool, N> isfinite(Vec<T, N> a) { return abs(a) < splat<N>(T(__builtin_inff())); }
template <class T, int N> DML_FN Vec<T, N> copysign(Vec<T, N> a, Vec<T, N> s) {
  using I = typename Bits<T>::s;
  const Vec<I, N> top = splat<N>(I(typename Bits<T>::u(1) << (8 * sizeof(T) - 1)));
  return bitcast<T>((bitcast<I>(a) & ~top) | (bitcast<I>(s) & top));
}
template <class T, int N> DML_FN Vec<T, N> rcp(Vec<T, N> a) { return splat<N>(T(1)) / a; }

}  // namespace dml

#if DML_GPU
#include "dinoml/math_gpu.h"
#else
#include "dinoml/math_float.h"
#endif

namespace dml {

template <class T, int N> DML_FN Vec<T, N> rsqrt(Vec<T, N> a) { return splat<N>(T(1)) / sqrt(a); }
template <int N> DML_FN Vec<double, N> sigmoid(Vec<double, N> x) {
  const Vec<double, N> e = exp(-abs(x));
  return select(x < splat<N>(0.), e, splat<N>(1.)) / (e + splat<N>(1.));
}

// Quotients: x / 0 is 0 for integers; the least integer divided by -1 wraps.
template <class T, int N> DML_FN Vec<T, N> floor_div(Vec<T, N> a, Vec<T, N> b) {
  if constexpr (is_float<T>) return floor(a / b);
  else return divided<true>(a, b);
}
template <class T, int N> DML_FN Vec<T, N> fmod(Vec<T, N> a, Vec<T, N> b) {  // the sign of a
  if constexpr (is_float<T>) return fmod_float(a, b);
  else return select(b == splat<N>(T(0)), splat<N>(T(0)), a - divided<false>(a, b) * b);
}
template <class T, int N> DML_FN Vec<T, N> mod(Vec<T, N> a, Vec<T, N> b) {  // the sign of b
  const Vec<T, N> zero = splat<N>(T(0));
  if constexpr (is_float<T>) {
    const Vec<T, N> r = fmod(a, b), turned = select((b < zero) ^ (r < zero), r + b, r);
    return select(b == zero, r, select(r == zero, copysign(zero, b), turned));
  } else return select(b == zero, zero, a - divided<true>(a, b) * b);
}

}  // namespace dml
