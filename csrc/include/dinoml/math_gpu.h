// What math.h needs of a GPU. Functions call the device library lane by lane, in its accurate versions, no fast-math intrinsic;
// the one approximation is the reciprocal inside sigmoid. Largest errors of float32 in ulp, over all arguments, measured on
// sm_90a (tests/gpu/ulp.cu fails above these):
//   sqrt rcp 0.5   log log1p log2 1   erf 1.1   rsqrt expm1 sin cos 1.6   exp tanh 2   sigmoid 4
#pragma once
#include "dinoml/vec.h"

namespace dml {

inline constexpr float float_nan = __builtin_nanf(""), float_inf = __builtin_inff();

template <class T, int N, class Fn> DML_FN Vec<T, N> per_lane(Fn fn, Vec<T, N> a) {
  return make<T, N>([&](int i) { return fn(a.v[i]); });
}
template <class T, int N, class Fn> DML_FN Vec<T, N> per_lane(Fn fn, Vec<T, N> a, Vec<T, N> b) {
  return make<T, N>([&](int i) { return fn(a.v[i], b.v[i]); });
}

// a * b + c, rounded once.
template <class T, int N> DML_FN Vec<T, N> fma(Vec<T, N> a, Vec<T, N> b, Vec<T, N> c) {
  static_assert(is_float<T>, "floats");
  if constexpr (sizeof(T) == 4) return make<T, N>([&](int i) { return ::fmaf(a.v[i], b.v[i], c.v[i]); });
  else return make<T, N>([&](int i) { return ::fma(a.v[i], b.v[i], c.v[i]); });
}
// a * b + c as the target does it fastest.
template <class T, int N> DML_FN Vec<T, N> madd(Vec<T, N> a, Vec<T, N> b, Vec<T, N> c) { return fma(a, b, c); }
template <class T, int N> DML_FN Vec<T, N> madd(Vec<T, N> a, Vec<T, N> b, plain_t<T> c) { return fma(a, b, splat<N>(c)); }
template <class T, int N> DML_FN Vec<T, N> madd(Vec<T, N> a, plain_t<T> b, Vec<T, N> c) { return fma(a, splat<N>(b), c); }

#define DML_LIBRARY(name, f32, f64)                                                                                 \
  template <class T, int N> DML_FN Vec<T, N> name(Vec<T, N> a) {                                                    \
    static_assert(is_float<T>, "floats");                                                                           \
    if constexpr (sizeof(T) == 4) return make<T, N>([&](int i) { return ::f32(a.v[i]); });                          \
    else return make<T, N>([&](int i) { return ::f64(a.v[i]); });                                                   \
  }
DML_LIBRARY(sqrt, sqrtf, sqrt)
DML_LIBRARY(floor, floorf, floor)
DML_LIBRARY(ceil, ceilf, ceil)
DML_LIBRARY(trunc, truncf, trunc)
DML_LIBRARY(rint, rintf, rint)
DML_LIBRARY(exp, expf, exp)
DML_LIBRARY(expm1, expm1f, expm1)
DML_LIBRARY(log, logf, log)
DML_LIBRARY(log1p, log1pf, log1p)
DML_LIBRARY(log2, log2f, log2)
DML_LIBRARY(tanh, tanhf, tanh)
DML_LIBRARY(erf, erff, erf)
DML_LIBRARY(sin, sinf, sin)
DML_LIBRARY(cos, cosf, cos)
#undef DML_LIBRARY
template <int N> DML_FN Vec<float, N> exp_below(Vec<float, N> x) { return exp(x); }  // for x <= 89 or NaN
template <class T, int N> DML_FN Vec<T, N> pow(Vec<T, N> a, Vec<T, N> b) {
  if constexpr (sizeof(T) == 4) return make<T, N>([&](int i) { return ::powf(a.v[i], b.v[i]); });
  else return make<T, N>([&](int i) { return ::pow(a.v[i], b.v[i]); });
}
template <class T, int N> DML_FN Vec<T, N> fmod_float(Vec<T, N> a, Vec<T, N> b) {
  if constexpr (sizeof(T) == 4) return make<T, N>([&](int i) { return ::fmodf(a.v[i], b.v[i]); });
  else return make<T, N>([&](int i) { return ::fmod(a.v[i], b.v[i]); });
}

// Small results keep their digits: they are reciprocals of large numbers. Below 2^-126 they are 0.
template <int N> DML_FN Vec<float, N> sigmoid(Vec<float, N> x) {
  return make<float, N>([&](int i) { return gpu::reciprocal(1.f + ::expf(-x.v[i])); });
}

// Integer quotients, rounded down or towards zero; x / 0 is 0.
template <bool Down, class T, int N> DML_FN Vec<T, N> divided(Vec<T, N> a, Vec<T, N> b) {
  return per_lane([](T x, T y) {
    if (y == 0) return T(0);
    if (y == -1) return T(-typename Bits<T>::u(x));
    const T q = x / y;
    return T(Down && q * y != x && (x < 0) != (y < 0) ? q - 1 : q);
  }, a, b);
}
// A count that is negative or past the width moves every bit out, as NumPy does.
template <class T, int N> DML_FN Vec<T, N> shift_left(Vec<T, N> a, Vec<T, N> by) {
  return per_lane([](T x, T n) { return n >= 0 && n < T(8 * sizeof(T)) ? T(typename Bits<T>::u(x) << n) : T(0); }, a, by);
}
template <class T, int N> DML_FN Vec<T, N> shift_right(Vec<T, N> a, Vec<T, N> by) {
  return per_lane([](T x, T n) { return T(x >> (n >= 0 && n < T(8 * sizeof(T)) ? n : T(8 * sizeof(T) - 1))); }, a, by);
}

}  // namespace dml
