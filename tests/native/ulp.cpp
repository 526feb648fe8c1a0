// Measures the largest error of every float32 function of math.h against libm in long double or double, over floats
// spread evenly through their bit patterns plus special values; fails above the bounds that math.h states, where special
// values differ, or where another lane count gives other bits.
#include "dinoml/math.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <vector>

using namespace dml;

namespace {

constexpr int W = native<float>;
int failures = 0;

float from_bits(uint32_t u) { float f; memcpy(&f, &u, 4); return f; }
uint32_t bits(float f) { uint32_t u; memcpy(&u, &f, 4); return u; }
bool same_value(float a, float b) { return bits(a) == bits(b) || (a != a && b != b); }

double ulps(float got, double want) {
  if (got != got || want != want) return (got != got) == (want != want) ? 0 : INFINITY;
  const float nearest = float(want);
  if (isinf(nearest) || isinf(got)) {
    if (isinf(nearest) && isinf(got)) return nearest == got ? 0 : INFINITY;
    const float edge = isinf(got) ? got : nearest;  // one of both overflowed: count from 2^128
    return fabs((isinf(got) ? want : double(got)) - copysign(0x1p128, edge)) / 0x1p104;
  }
  int e;
  frexp(want, &e);
  const double place = ldexp(1.0, (e < -125 ? -125 : e) - 24);
  return fabs(double(got) - want) / place;
}

template <int N, class F> void run(F f, const float* x, float* y, int n) {
  for (int i = 0; i < n; i += N) {
    Part<N> l{n - i < N ? n - i : N};
    store(l, y + i, to<float>(f(value(load(l, x + i)))));
  }
}
template <int N, class F> void run2(F f, const float* a, const float* b, float* y, int n) {
  for (int i = 0; i < n; i += N) {
    Part<N> l{n - i < N ? n - i : N};
    store(l, y + i, to<float>(f(value(load(l, a + i)), value(load(l, b + i)))));
  }
}

void judge(const char* name, double worst, float at, float with, bool two, double bound, int odd_lanes) {
  const bool ok = worst <= bound && !odd_lanes;
  failures += !ok;
  printf("%-10s %8.3f ulp, bound %4.1f, at %.9g", name, worst, bound, double(at));
  if (two) printf(", %.9g", double(with));
  printf("%s%s\n", odd_lanes ? "  other bits in other widths" : "", ok ? "" : "  FAILED");
}

template <class F, class G> void check(const char* name, double bound, uint32_t step, F f, G want) {
  std::vector<float> x = {0.f, -0.f, INFINITY, -INFINITY, NAN, 1.f, -1.f, from_bits(1), from_bits(0x80000001), 0x1p-126f, -0x1p-126f, 3.4028235e38f, -3.4028235e38f,
                          88.722839f, 88.72284f, -87.336548f, -103.97208f, -103.9721f, 104.f, -104.f, 17.f, 9.f, 0.5f, 2.f, 1e5f, 100000.01f, 3.1415927f, 1.5707964f};
  for (uint64_t u = 0; u < (uint64_t(1) << 32); u += step) x.push_back(from_bits(uint32_t(u)));
  for (uint32_t u = bits(0.01f); u < bits(20.f); u += step / 64 + 1) x.push_back(from_bits(u)), x.push_back(-from_bits(u));
  const int n = int(x.size());
  std::vector<float> y(n), other(n);
  run<W>(f, x.data(), y.data(), n);
  double worst = 0;
  int at = 0, odd = 0;
  for (int i = 0; i < n; i++) {
    const double e = ulps(y[i], want(double(x[i])));
    if (e > worst) worst = e, at = i;
    if (x[i] == 0 && y[i] == 0 && signbit(y[i]) != bool(signbit(float(want(double(x[i])))))) odd++;
  }
  const int few = n < 100003 ? n : 100003;
  auto compare = [&] { for (int i = 0; i < few; i++) odd += !same_value(y[i], other[i]); };
  run<1>(f, x.data(), other.data(), few), compare();
  run<2>(f, x.data(), other.data(), few), compare();
  run<4>(f, x.data(), other.data(), few), compare();
  run<2 * W>(f, x.data(), other.data(), few), compare();
  judge(name, worst, x[at], 0, false, bound, odd);
}

template <class F, class G> void check2(const char* name, double bound, int count, F f, G want) {
  const float special[] = {0.f, -0.f, 1.f, -1.f, 0.5f, -0.5f, 2.f, -2.f, 3.f, -3.f, 2.5f, INFINITY, -INFINITY, NAN, 0x1p-149f, -0x1p-126f, 3.4028235e38f, 1e30f, -1e30f, 16777217.f, 7.f, -7.f};
  std::vector<float> a, b;
  for (float s : special) for (float t : special) a.push_back(s), b.push_back(t);
  uint64_t state = 12345;
  auto next = [&] { state = state * 6364136223846793005ull + 1442695040888963407ull; return uint32_t(state >> 33); };
  for (int i = 0; i < count; i++) {
    if (i % 4 == 0) a.push_back(from_bits(next() * 2u + next() % 2u)), b.push_back(from_bits(next() * 2u + next() % 2u));
    else if (i % 4 == 1) a.push_back(float(next()) * 0x1p-28f), b.push_back((float(next()) - 0x1p30f) * 0x1p-25f);
    else if (i % 4 == 2) a.push_back(float(int(next() % 41) - 20)), b.push_back(float(int(next() % 41) - 20));
    else a.push_back(1.f + (float(next()) - 0x1p30f) * 0x1p-42f), b.push_back((float(next()) - 0x1p30f) * 0x1p-13f);
  }
  const int n = int(a.size());
  std::vector<float> y(n), other(n);
  run2<W>(f, a.data(), b.data(), y.data(), n);
  double worst = 0;
  int at = 0, odd = 0;
  for (int i = 0; i < n; i++) {
    const double w = want(double(a[i]), double(b[i])), e = ulps(y[i], w);
    if (e > worst) worst = e, at = i;
    if (y[i] == 0 && w == 0 && signbit(y[i]) != signbit(w)) odd++;
  }
  const int few = n < 50021 ? n : 50021;
  auto compare = [&] { for (int i = 0; i < few; i++) odd += !same_value(y[i], other[i]); };
  run2<1>(f, a.data(), b.data(), other.data(), few), compare();
  run2<2 * W>(f, a.data(), b.data(), other.data(), few), compare();
  judge(name, worst, a[at], b[at], true, bound, odd);
}

double python_mod(double a, double b) {
  double r = fmod(a, b);
  if (b == 0 || r != r) return r;
  if (r == 0) return copysign(0, b);
  return (r < 0) != (b < 0) ? double(float(r) + float(b)) : r;
}

}  // namespace

#define ONE(name, bound, step, want) check(#name, bound, step, [](auto v) { return name(v); }, [](double x) { return double(want); })
#define TWO(name, bound, count, want) check2(#name, bound, count, [](auto a, auto b) { return name(a, b); }, [](double x, double y) { return double(want); })

int main() {
  const bool fused = fast_fma;
  ONE(floor, 0.5, 8191, ::floor(x));
  ONE(ceil, 0.5, 8191, ::ceil(x));
  ONE(trunc, 0.5, 8191, ::trunc(x));
  ONE(rint, 0.5, 8191, ::rint(x));
  ONE(sqrt, 0.5, 8191, ::sqrt(x));
  ONE(rcp, 0.5, 8191, 1 / x);
  ONE(rsqrt, 1.5, 8191, 1 / ::sqrt(x));
  ONE(exp, fused ? 1 : 1.2, 251, ::exp(x));
  ONE(expm1, 2, 509, ::expm1(x));
  ONE(log, 1, 251, ::log(x));
  ONE(log1p, 3, 509, ::log1p(x));
  ONE(log2, 2, 509, ::log2(x));
  ONE(tanh, 2, 509, ::tanh(x));
  ONE(erf, 2, 509, ::erf(x));
  ONE(sigmoid, 3, 509, x < -700 ? 0. : 1 / (1 + ::exp(-x)));
  ONE(sin, 2, 1021, ::sin(x));
  ONE(cos, 2, 1021, ::cos(x));
  TWO(pow, 1, 1000000, ::pow(x, y));
  TWO(fmod, 0, 400000, ::fmod(x, y));
  TWO(mod, 0, 400000, python_mod(x, y));
  TWO(max, 0, 100000, x != x || y != y ? NAN : x > y ? x : y);
  TWO(min, 0, 100000, x != x || y != y ? NAN : x < y ? x : y);
  printf(failures ? "%d functions failed\n" : "all within bounds\n", failures);
  return failures != 0;
}
