// The functions of float32 on CPUs, by polynomials over Vec: any number of lanes gives the same bits.
// Coefficients: minimax fits (relative error in the comment, in bits). Error bounds stand in math.h and are tested.
#pragma once
#include "dinoml/math_cpu.h"

namespace dml {

// c[0] + c[1] x + c[2] x^2 ...
template <class T, int N, int K> DML_FN Vec<T, N> polynomial(Vec<T, N> x, const T (&c)[K]) {
  Vec<T, N> p = splat<N>(c[K - 1]);
  DML_UNROLL for (int k = K - 2; k >= 0; k--) p = madd(p, x, splat<N>(c[k]));
  return p;
}
template <int N> DML_FN Vec<float, N> magnitude(Vec<float, N> a) { return bitcast<float>(bitcast<int32_t>(a) & splat<N>(0x7fffffff)); }
template <int N> DML_FN Vec<float, N> negative_magnitude(Vec<float, N> a) { return bitcast<float>(bitcast<int32_t>(a) | splat<N>(int32_t(0x80000000))); }
template <int N> DML_FN Vec<float, N> with_sign(Vec<float, N> a, Vec<float, N> s) {  // a >= +0
  return bitcast<float>(bitcast<int32_t>(a) | (bitcast<int32_t>(s) & splat<N>(int32_t(0x80000000))));
}
inline constexpr float float_nan = __builtin_nanf(""), float_inf = __builtin_inff();

// x = n ln2 + r, |r| <= ln2 / 2. Adding 1.5 * 2^23 rounds to an integer and leaves it in the low bits.
template <int N> struct Reduced { Vec<float, N> n, r; Vec<int32_t, N> whole; };
template <int N> DML_FN Reduced<N> by_ln2(Vec<float, N> x) {
  const Vec<float, N> magic = splat<N>(0x1.8p23f), t = madd(x, splat<N>(1.44269504f), magic), n = t - magic;
  const Vec<float, N> r = madd(n, 2.12194440e-4f, madd(n, -0.693359375f, x));  // the first product is exact
  return {n, r, bitcast<int32_t>(t) - splat<N>(0x4b400000)};
}
template <int N> DML_FN Vec<float, N> exp_below(Vec<float, N> x) {  // for x <= 89 or NaN; enough where x is -|y| or y - max
  constexpr float c[] = {1.f, 1.f, 0.49999994f, 0.16666515f, 0.041668456f, 0.0083694188f, 0.0013813179f};  // 28
  const Reduced<N> q = by_ln2(pick_max(splat<N>(-104.f), x));  // NaN stays
  return scaled(polynomial(q.r, c), q.n, q.whole);
}
template <int N> DML_FN Vec<float, N> exp(Vec<float, N> x) { return exp_below(pick_min(splat<N>(89.f), x)); }
template <int N> DML_FN Vec<float, N> expm1(Vec<float, N> x) {
  constexpr float c[] = {0.5f, 0.16666667f, 0.041666314f, 0.0083332155f, 0.0013944317f, 0.00019964803f};  // 31
  const Vec<float, N> y = pick_min(splat<N>(89.f), pick_max(splat<N>(-18.f), x));
  const Reduced<N> q = by_ln2(y);
  const Vec<float, N> p = madd(polynomial(q.r, c), q.r * q.r, q.r);
  const Vec<float, N> half = bitcast<float>(shift_bits_left(q.whole + splat<N>(126), 23));  // 2^(n-1): 2^128 is no float
  const Vec<float, N> r = 2.f * madd(p, half, half - splat<N>(0.5f));
  return select(magnitude(x) < splat<N>(0x1p-25f), x, r);  // and keeps -0
}

// x = m 2^e with m in [sqrt(1/2), sqrt(2)) for positive normal x.
template <int N> struct Parts { Vec<float, N> e, m; };
template <int N> DML_FN Parts<N> parted(Vec<float, N> x) {
  const Vec<bool, N> tiny = x < splat<N>(0x1p-126f);
  x = select(tiny, x * splat<N>(0x1p24f), x);
  const Vec<int32_t, N> i = bitcast<int32_t>(x) - splat<N>(0x3f3504f3), e = shift_sign_right(i, 23);
  const Vec<float, N> m = bitcast<float>((i & splat<N>(0x007fffff)) + splat<N>(0x3f3504f3));
  return {cast<float>(e) - select(tiny, splat<N>(24.f), splat<N>(0.f)), m};
}
// log(1 + r) - r for 1 + r in [sqrt(1/2), sqrt(2))
template <int N> DML_FN Vec<float, N> log_tail(Vec<float, N> r) {
  constexpr float c[] = {0.33333313f, -0.25000009f, 0.20002134f, -0.16668007f, 0.14219226f, -0.12405136f, 0.1189032f, -0.11679634f, 0.06746585f};  // 30
  const Vec<float, N> r2 = r * r;
  return madd(polynomial(r, c), r2 * r, -0.5f * r2);
}
// For x that is no positive finite number: the value of a logarithm.
template <int N> DML_FN Vec<float, N> log_special(Vec<float, N> x, Vec<float, N> normal) {
  const Vec<float, N> other = select(x == splat<N>(0.f), splat<N>(-float_inf), select(x == splat<N>(float_inf), x, splat<N>(float_nan)));
  return select((x > splat<N>(0.f)) & (x < splat<N>(float_inf)), normal, other);
}
template <int N> DML_FN Vec<float, N> log_positive(Vec<float, N> x) {
  const Parts<N> q = parted(x);
  const Vec<float, N> r = q.m - splat<N>(1.f);
  return madd(q.e, 0.693359375f, r + madd(q.e, -2.12194440e-4f, log_tail(r)));
}
template <int N> DML_FN Vec<float, N> log(Vec<float, N> x) { return log_special(x, log_positive(x)); }
template <int N> DML_FN Vec<float, N> log2(Vec<float, N> x) {
  const Parts<N> q = parted(x);
  const Vec<float, N> r = q.m - splat<N>(1.f), t = log_tail(r);
  // log2(e) = 1 + 0.44269504: r itself enters without rounding
  return log_special(x, q.e + (r + madd(t, 1.44269504f, r * 0.44269504f)));
}
template <int N> DML_FN Vec<float, N> log1p(Vec<float, N> x) {
  const Vec<float, N> u = x + splat<N>(1.f), lost = (x - (u - splat<N>(1.f))) / u;
  const Vec<float, N> r = log_special(u, log_positive(u) + lost);
  return select(magnitude(x) < splat<N>(0x1p-25f), x, r);
}

template <int N> DML_FN Vec<float, N> sigmoid(Vec<float, N> x) {  // by exp(-|x|): no overflow, and small results keep their digits
  const Vec<float, N> e = exp_below(negative_magnitude(x));
  return select(x < splat<N>(0.f), e, splat<N>(1.f)) / (e + splat<N>(1.f));
}
template <int N> DML_FN Vec<float, N> tanh(Vec<float, N> x) {
  constexpr float c[] = {-0.3333327f, 0.13331093f, -0.053709656f, 0.020538811f, -0.0055910028f};  // 27
  const Vec<float, N> a = magnitude(x), z = x * x;
  const Vec<float, N> small = madd(a * z, polynomial(z, c), a);
  const Vec<float, N> big = splat<N>(1.f) - splat<N>(2.f) / (exp(a + a) + splat<N>(1.f));
  return with_sign(select(a < splat<N>(0.64f), small, big), x);
}
template <int N> DML_FN Vec<float, N> erf(Vec<float, N> x) {
  constexpr float c[] = {-0.37612635f, 0.11283733f, -0.026861586f, 0.005206747f, -0.0008211106f, 8.6754e-05f};  // with 1.1283792: 32
  constexpr float d[] = {0.00016054900f, -1.1294457913f, -0.63348865509f, -0.10812186449f, 0.025015775114f, -0.0041312342510f, 0.00042615475832f, -2.0369670892e-05f};  // log(erfc): 33
  const Vec<float, N> a = magnitude(x), z = x * x;
  // 2/sqrt(pi) = 1 + 0.1283792
  const Vec<float, N> small = x + x * madd(polynomial(z, c), z, splat<N>(0.12837917f));
  const Vec<float, N> big = splat<N>(1.f) - exp_below(polynomial(pick_min(splat<N>(4.f), a), d));
  return select(a < splat<N>(0.875f), small, with_sign(big, x));
}

// sin(x + Quarters * pi / 2). The reduction is in double, where n * 1.57079633 is exact for |x| <= 1e5.
template <int Quarters, int N> DML_FN Vec<float, N> circular_near(Vec<float, N> x) {
  constexpr float s[] = {-0.16666655f, 0.0083321603f, -0.0001951522f};   // 28
  constexpr float k[] = {0.041666646f, -0.0013887315f, 2.4433084e-05f};  // 33
  const Vec<double, N> d = cast<double>(x), magic = splat<N>(0x1.8p52), t = madd(d, splat<N>(0.63661977236758134), magic), n = t - magic;
  const Vec<double, N> reduced = madd(n, splat<N>(-6.0771005065061922e-11), madd(n, splat<N>(-0x1.921fb544p+0), d));
  const Vec<float, N> r = cast<float>(reduced), z = r * r;
  const Vec<int32_t, N> q = cast<int32_t>(bitcast<int64_t>(t)) + splat<N>(int32_t(Quarters));
  const Vec<float, N> sine = madd(r * z, polynomial(z, s), r), cosine = madd(z * z, polynomial(z, k), madd(z, splat<N>(-0.5f), splat<N>(1.f)));
  const Vec<float, N> chosen = select((q & splat<N>(1)) != splat<N>(0), cosine, sine);
  const Vec<float, N> signed_one = bitcast<float>(bitcast<int32_t>(chosen) ^ shift_bits_left(q & splat<N>(2), 30));
  return Quarters == 0 ? select(x == splat<N>(0.f), x, signed_one) : signed_one;  // keeps -0
}
template <int Quarters, int N> DML_FN Vec<float, N> circular(Vec<float, N> x) {
  constexpr float far = 1e5f;  // libm from there
  if (__builtin_expect(hany(magnitude(x) > splat<N>(far)), 0)) return per_lane([](float v) {
    if (__builtin_fabsf(v) > far) return float(Quarters == 0 ? __builtin_sin(double(v)) : __builtin_cos(double(v)));
    return lane<0>(circular_near<Quarters>(splat<1>(v)));
  }, x);
  return circular_near<Quarters>(x);
}
template <int N> DML_FN Vec<float, N> sin(Vec<float, N> x) { return circular<0>(x); }
template <int N> DML_FN Vec<float, N> cos(Vec<float, N> x) { return circular<1>(x); }

// |x|^y = 2^(y log2|x|) in double.
template <int N> DML_FN Vec<double, N> pow_positive(Vec<float, N> a, Vec<float, N> y) {
  constexpr double c[] = {2.885390081777927, 0.9617966939243044, 0.5770780172594457, 0.4121983999806233, 0.32061653439636784, 0.26143950821984135, 0.24297343407623534};  // 52
  constexpr double d[] = {1., 0.6931471805412042, 0.24022650694744296, 0.055504109593346965, 0.009618129558552466, 0.0013333434063270407, 0.0001540309850704022, 1.5314232630108295e-05, 1.3344116542046885e-06};  // 40
  const Parts<N> q = parted(a);
  const Vec<double, N> m = cast<double>(q.m), s = (m - splat<N>(1.)) / (m + splat<N>(1.)), log = madd(polynomial(s * s, c), s, cast<double>(q.e));
  const Vec<bool, N> usual = (a > splat<N>(0.f)) & (a < splat<N>(float_inf));
  const Vec<double, N> special = select(a == splat<N>(0.f), splat<N>(-__builtin_inf()), cast<double>(a));
  Vec<double, N> e = select(usual, log, special) * cast<double>(y);
  e = select(a == splat<N>(1.f), splat<N>(0.), e);  // also for an infinite y
  const Vec<double, N> bounded = pick_min(splat<N>(200.), pick_max(splat<N>(-200.), e)), magic = splat<N>(0x1.8p52), t = bounded + magic, n = t - magic;
  const Vec<double, N> scale = bitcast<double>(shift_bits_left(bitcast<int64_t>(t) + splat<N>(int64_t(1023)), 52));
  return select(e != e, e, polynomial(bounded - n, d) * scale);
}
template <int N> DML_FN Vec<float, N> pow(Vec<float, N> x, Vec<float, N> y) {
  const Vec<float, N> a = magnitude(x), zero = splat<N>(0.f), one = splat<N>(1.f), half = y * splat<N>(0.5f);
  const Vec<bool, N> integer = trunc(y) == y, odd = integer & (trunc(half) != half);
  Vec<float, N> r = cast<float>(pow_positive(a, y));
  r = select(odd, with_sign(r, x), r);
  r = select((x < zero) & ~integer & (a < splat<N>(float_inf)), splat<N>(float_nan), r);
  r = select((x != x) | (y != y), x + y, r);
  return select((y == zero) | (x == one), one, r);
}

}  // namespace dml
