// GEMM and attention templates against double loops. Integers small enough to be exact where the order of summation is not
// what is tested; sizes 0, 1, primes, around and past each tile; every form, operand kind and number of workers.
// Usage: matrix [gemm | attention]. Prints each failure; the exit status is 1 if there was one.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmath>
#include <limits>
#include <random>
#include <thread>
#include <vector>

#include "cpu/attention.h"
#include "cpu/gemm.h"

namespace {
using namespace dml;
using namespace dml::cpu;

int failures = 0, cases = 0;
#define CHECK(ok, ...)       \
  do {                       \
    cases++;                 \
    if (!(ok)) {             \
      if (failures++ < 50) { \
        printf("FAIL ");     \
        printf(__VA_ARGS__); \
        printf("\n");        \
      }                      \
    }                        \
  } while (0)

// ---- a context with real threads, and scratch with a guard behind it
struct Context {
  dml_ctx ctx{};
  std::vector<char> memory;
  size_t bytes;
  Context(int workers, i64 each, i64 shared = 0)
      : memory(size_t(workers * each + shared) + 192, char(0x7f)), bytes(size_t(workers * each + shared)) {
    ctx.workers = workers;
    const size_t skew = (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64) % 64;
    ctx.scratch = memory.data() + skew;
    ctx.parallel_for = [](const dml_ctx* c, int64_t n, int64_t grain, void (*body)(void*, int64_t, int64_t, int), void* arg) {
      const int64_t units = (n + grain - 1) / grain, w = c->workers;
      if (w == 1) return body(arg, 0, n, 0);
      std::vector<std::thread> threads;
      for (int i = 0; i < w; i++) {
        const int64_t begin = units * i / w * grain, end = std::min(n, units * (i + 1) / w * grain);
        if (begin < end) threads.emplace_back([=] { body(arg, begin, end, i); });
      }
      for (auto& t : threads) t.join();
    };
  }
  bool guard_intact() const {
    const char* end = static_cast<const char*>(ctx.scratch) + bytes;
    for (int i = 0; i < 64; i++)
      if (end[i] != char(0x7f)) return false;
    return true;
  }
};

std::mt19937 random_bits(7);
float small_int() { return float(int(random_bits() % 7) - 3); }
template <class S> S stored_as(float x) { return pack<S>(Vec<float, 1>{x}).v; }
template <> float stored_as<float>(float x) { return x; }
template <> bf16 stored_as<bf16>(float x) {
  uint32_t u;
  memcpy(&u, &x, 4);
  return {uint16_t((u + 0x7fff + (u >> 16 & 1)) >> 16)};
}
template <> f16 stored_as<f16>(float x) {
  const _Float16 h = _Float16(x);
  f16 r;
  memcpy(&r, &h, 2);
  return r;
}
template <class S> double real(S x);
template <> double real(float x) { return x; }
template <> double real(bf16 x) {
  uint32_t u = uint32_t(x.bits) << 16;
  float f;
  memcpy(&f, &u, 4);
  return f;
}
template <> double real(f16 x) {
  _Float16 h;
  memcpy(&h, &x, 2);
  return double(h);
}

enum class Kind { row_major, column_major, spaced };
// A batch of matrices in a layout, with NaN between and behind what belongs to it.
template <class S> struct Matrix {
  std::vector<S> data;
  Strided<S> view;
  Matrix(Kind kind, i64 b0, i64 b1, i64 rows, i64 columns, i64 extra, bool integers = true) {
    const i64 ld = (kind == Kind::column_major ? rows : columns) + extra;
    view = {nullptr, 0, 0, ld, 1};
    if (kind == Kind::column_major) view.s2 = 1, view.s3 = ld;
    if (kind == Kind::spaced) view.s2 = 3 * ld, view.s3 = 3;
    const i64 size = (kind == Kind::column_major ? columns : rows) * ld * (kind == Kind::spaced ? 3 : 1) + 2;
    view.s1 = size, view.s0 = size * b1;
    data.assign(size_t(b0 * b1 * size + 1), stored_as<S>(NAN));
    view.p = data.data();
    std::normal_distribution<float> normal;
    for (i64 i = 0; i < b0; i++)
      for (i64 j = 0; j < b1; j++)
        for (i64 r = 0; r < rows; r++)
          for (i64 c = 0; c < columns; c++) data[size_t(at(i, j, r, c))] = stored_as<S>(integers ? small_int() : normal(random_bits));
  }
  i64 at(i64 i, i64 j, i64 r, i64 c) const { return i * view.s0 + j * view.s1 + r * view.s2 + c * view.s3; }
  double operator()(i64 i, i64 j, i64 r, i64 c) const { return real(data[size_t(at(i, j, r, c))]); }
};

template <class S> struct Aligned {
  std::vector<S> data;
  S* p;
  explicit Aligned(size_t n) : data(n + 64 / sizeof(S)) {
    p = reinterpret_cast<S*>((reinterpret_cast<uintptr_t>(data.data()) + 63) / 64 * 64);
  }
};
// [b0, b1, n / NR, k, NR], or pairs.
template <int NR, class S> Aligned<S> packed(const Matrix<S>& m, const GemmDims& d, bool pairs) {
  const i64 panels = (d.n + NR - 1) / NR, k = pairs ? (d.k + 1) / 2 * 2 : d.k;
  Aligned<S> out(size_t(d.b0 * d.b1 * panels * k * NR));
  for (i64 b = 0; b < d.b0 * d.b1; b++)
    for (i64 p = 0; p < panels; p++)
      for (i64 i = 0; i < k; i++)
        for (i64 c = 0; c < NR; c++) {
          const bool inside = i < d.k && p * NR + c < d.n;
          const i64 at = pairs ? ((b * panels + p) * (k / 2) + i / 2) * NR * 2 + c * 2 + i % 2 : ((b * panels + p) * k + i) * NR + c;
          out.p[at] = inside ? m.data[size_t(m.at(b / d.b1, b % d.b1, i, p * NR + c))] : stored_as<S>(0.f);
        }
  return out;
}

// Accessors as the generator writes them.
template <class S> struct PlainLoad {
  Strided<S> x;
  template <int N> struct Got { Raw<S, N> x; };
  template <class L> DML_FN Got<L::width> fetch(L l, i64 i0, i64 i1, i64 i2, i64 i3) const {
    return {load_strided(l, x.p + i0 * x.s0 + i1 * x.s1 + i2 * x.s2 + i3 * x.s3, x.s3)};
  }
  template <class L> DML_FN Vec<float, L::width> eval(L, const Got<L::width>& g, i64, i64, i64, i64) const { return value(g.x); }
};
struct BiasStore {  // y = 2 * v + bias[n] + residual[b0, b1, m, n]; counts how often each element is stored
  float *y, *times;
  const float *bias, *residual;
  i64 s0, s1, s2;
  template <int N> struct Got { Raw<float, N> bias, residual, times; };
  template <class L> DML_FN Got<L::width> fetch(L l, i64 i0, i64 i1, i64 i2, i64 i3) const {
    const i64 o = i0 * s0 + i1 * s1 + i2 * s2 + i3;
    return {load(l, bias + i3), load(l, residual + o), load(l, times + o)};
  }
  template <class L> DML_FN void put(L l, const Got<L::width>& g, i64 i0, i64 i1, i64 i2, i64 i3, Vec<float, L::width> v) const {
    const i64 o = i0 * s0 + i1 * s1 + i2 * s2 + i3;
    store(l, y + o, to<float>(fma(v, splat<L::width>(2.f), value(g.bias)) + value(g.residual)));
    store(l, times + o, to<float>(value(g.times) + splat<L::width>(1.f)));
  }
};

template <GemmForm F, int mr, int nr, int mc, int kc, int nc> struct Params {
  static constexpr GemmForm form = F;
  static constexpr int MR = mr, NR = nr, MC = mc, KC = kc, NC = nc;
};

template <class P, class S, class A, class B>
void check_gemm(const char* name, int workers, const GemmDims& d, const Matrix<S>& am, const Matrix<S>& bm, A a, B b, bool exact) {
  const size_t size = size_t(d.b0 * d.b1 * d.m * d.n);
  std::vector<float> y(size + 16, 777.f), times(size + 16, 0.f), bias(size_t(d.n)), residual(size);
  for (auto& x : bias) x = small_int();
  for (auto& x : residual) x = small_int();
  Context context(workers, gemm_scratch<P, B>(d));
  gemm<P>(context.ctx, d, a, b, BiasStore{y.data(), times.data(), bias.data(), residual.data(), d.b1 * d.m * d.n, d.m * d.n, d.n});
  bool right = context.guard_intact();
  if (!exact && workers > 1) {  // the number of workers changes no bit
    std::vector<float> alone(y.size(), 777.f), unused(y.size(), 0.f);
    Context one(1, gemm_scratch<P, B>(d));
    gemm<P>(one.ctx, d, a, b, BiasStore{alone.data(), unused.data(), bias.data(), residual.data(), d.b1 * d.m * d.n, d.m * d.n, d.n});
    right = right && !memcmp(alone.data(), y.data(), y.size() * sizeof(float));
  }
  double worst = 0;
  size_t o = 0;
  for (i64 i = 0; i < d.b0; i++)
    for (i64 j = 0; j < d.b1; j++)
      for (i64 r = 0; r < d.m; r++)
        for (i64 c = 0; c < d.n; c++, o++) {
          double sum = 0, size_of = 0;
          for (i64 k = 0; k < d.k; k++) {
            const double t = am(i, j, r, k) * bm(i, j, k, c);
            sum += t, size_of += std::fabs(t);
          }
          const double want = 2 * sum + bias[size_t(c)] + residual[o], error = std::fabs(y[o] - want);
          if (!(error <= (exact ? 0 : 1e-6 * (size_of + 1))) || times[o] != 1) right = false;
          worst = std::fmax(worst, error);
        }
  for (size_t i = size; i < size + 16; i++) right = right && y[i] == 777.f && times[i] == 0;
  CHECK(right, "gemm %s form %d MR %d NR %d workers %d b %d %d m %d n %d k %d worst %g%s", name, int(P::form), P::MR, P::NR, workers,
        int(d.b0), int(d.b1), int(d.m), int(d.n), int(d.k), worst, context.guard_intact() ? "" : " (scratch overrun)");
}

template <class P, class S> void all_operands(const GemmDims& d, int workers, bool integers) {
  const Matrix<S> a(Kind::row_major, d.b0, d.b1, d.m, d.k, 0, integers), b(Kind::row_major, d.b0, d.b1, d.k, d.n, 0, integers);
  const i64 panels = (d.n + P::NR - 1) / P::NR;
  auto constant = packed<P::NR>(b, d, false);
  const PackedB<S, P::NR> pb{constant.p, d.b1 * panels * d.k * P::NR, panels * d.k * P::NR};
  check_gemm<P>("packed", workers, d, a, b, a.view, pb, integers);
  const Matrix<S> at(Kind::column_major, d.b0, d.b1, d.m, d.k, 3, integers), as(Kind::spaced, d.b0, d.b1, d.m, d.k, 1, integers);
  const Matrix<S> bt(Kind::column_major, d.b0, d.b1, d.k, d.n, 5, integers), bs(Kind::spaced, d.b0, d.b1, d.k, d.n, 1, integers);
  check_gemm<P>("A by columns", workers, d, at, b, at.view, pb, integers);
  check_gemm<P>("A spaced", workers, d, as, b, as.view, pb, integers);
  check_gemm<P>("B by rows", workers, d, a, b, a.view, b.view, integers);
  check_gemm<P>("B by columns", workers, d, a, bt, a.view, bt.view, integers);
  check_gemm<P>("B spaced", workers, d, a, bs, a.view, bs.view, integers);
  check_gemm<P>("B accessor", workers, d, a, bs, a.view, PlainLoad<S>{bs.view}, integers);
  check_gemm<P>("A accessor", workers, d, as, b, PlainLoad<S>{as.view}, pb, integers);
#if defined(__AVX512BF16__)
  if constexpr (same<S, bf16>) {
    auto pairs = packed<P::NR>(b, d, true);
    const i64 words = (d.k + 1) / 2;
    const PackedBPairs<P::NR> pp{reinterpret_cast<const Pair*>(pairs.p), d.b1 * panels * words * P::NR, panels * words * P::NR};
    check_gemm<P>("pairs", workers, d, a, b, a.view, pp, integers);
    check_gemm<P>("pairs, A spaced", workers, d, as, b, as.view, pp, integers);
  }
#endif
}

template <class P> void all_sizes() {
  const i64 ms[] = {0, 1, 2, P::MR - 1, P::MR + 1, 2 * P::MR + 5, P::MC + 3}, ns[] = {0, 1, lanes, P::NR + 1, 3 * P::NR - 5, P::NC + 17},
            ks[] = {0, 1, 7, 37, P::KC + 1, 2 * P::KC + 18};
  int turn = 0;
  for (i64 m : ms)
    for (i64 n : ns)
      for (i64 k : ks) {
        const int workers = 1 + turn % 3;
        const GemmDims d{1 + turn % 2, 1 + turn / 2 % 3, m, n, k};
        all_operands<P, float>(d, workers, turn % 5 != 0);
        if (turn % 3 == 0) all_operands<P, bf16>(d, workers, true);
        if (turn % 3 == 1) all_operands<P, f16>(d, workers, true);
        turn++;
      }
  all_operands<P, float>({1, 1, 2 * P::MR + 1, P::NR, 1024}, 2, true);  // rows 4 KiB apart are not read in place
  all_operands<P, float>({0, 1, 3, 4, 5}, 1, true);
}

void test_gemm() {
  constexpr int W = lanes;
  all_sizes<Params<GemmForm::tile, 12, 2 * W, 24, 48, 4 * W>>();
  all_sizes<Params<GemmForm::tile, 6, W, 18, 64, 3 * W>>();
  all_sizes<Params<GemmForm::skinny, 8, 2 * W, 16, 48, 2 * W>>();
  all_sizes<Params<GemmForm::gemv, 1, 2 * W, 1, 48, 2 * W>>();
}

// ---- attention
struct BiasMap {  // score + bias[h] * (k - q), and -inf before `from` and where k % drop == drop - 1; drop 1: everywhere
  const float* bias;
  i64 drop, from;
  template <int N> struct Got { float bias; };
  template <class L> DML_FN Got<L::width> fetch(L, i64, i64 h, i64, i64) const { return {bias[h]}; }
  template <class L> DML_FN Vec<float, L::width> eval(L, const Got<L::width>& g, i64, i64, i64 q, i64 k, Vec<float, L::width> v) const {
    constexpr int N = L::width;
    const i64 some = drop, start = from;
    const float slope = g.bias;
    return v + make<float, N>([&](int i) { return k + i < start || (k + i) % some == some - 1 ? -infinity : slope * float(k + i - q); });
  }
};
struct AttentionStore {  // y = v + 1, and counts
  float *y, *times;
  i64 s0, s1, s2;
  template <int N> struct Got { Raw<float, N> times; };
  template <class L> DML_FN Got<L::width> fetch(L l, i64 i0, i64 i1, i64 i2, i64 i3) const {
    return {load(l, times + i0 * s0 + i1 * s1 + i2 * s2 + i3)};
  }
  template <class L> DML_FN void put(L l, const Got<L::width>& g, i64 i0, i64 i1, i64 i2, i64 i3, Vec<float, L::width> v) const {
    const i64 o = i0 * s0 + i1 * s1 + i2 * s2 + i3;
    store(l, y + o, to<float>(v + 1.f));
    store(l, times + o, to<float>(value(g.times) + 1.f));
  }
};
template <int mr, int nr, int bq, int bk, bool masked> struct AttentionParams {
  static constexpr int MR = mr, NR = nr, BQ = bq, BK = bk;
  static constexpr bool causal = masked;
};

template <class P, class S, class M> void check_attention(const char* name, int workers, const AttentionDims& d, Kind kind, M map) {
  const i64 kv = d.h / d.group;
  const Matrix<S> q(kind, d.b, d.h, d.q, d.d, 3, false), k(kind, d.b, kv, d.k, d.d, 0, false), v(kind, d.b, kv, d.k, d.dv, 1, false);
  const size_t size = size_t(d.b * d.h * d.q * d.dv);
  std::vector<float> y(size + 16, 777.f), times(size + 16, 0.f);
  const AttentionBytes scratch = attention_scratch<P>(d);
  Context context(workers, scratch.each, scratch.shared);
  attention<P>(context.ctx, d, q.view, k.view, v.view, map, AttentionStore{y.data(), times.data(), d.h * d.q * d.dv, d.q * d.dv, d.dv});
  bool right = context.guard_intact();
  if (workers > 1) {
    std::vector<float> alone(y.size(), 777.f), unused(y.size(), 0.f);
    Context one(1, scratch.each, scratch.shared);
    attention<P>(one.ctx, d, q.view, k.view, v.view, map, AttentionStore{alone.data(), unused.data(), d.h * d.q * d.dv, d.q * d.dv, d.dv});
    right = right && !memcmp(alone.data(), y.data(), y.size() * sizeof(float));
  }
  double worst = 0;
  std::vector<double> p(size_t(d.k));
  for (i64 b = 0, row = 0; b < d.b; b++)
    for (i64 h = 0; h < d.h; h++)
      for (i64 i = 0; i < d.q; i++, row++) {
        double high = -INFINITY, sum = 0;
        for (i64 j = 0; j < d.k; j++) {
          double s = 0;
          for (i64 c = 0; c < d.d; c++) s += q(b, h, i, c) * k(b, h / d.group, j, c);
          s *= d.scale;
          if constexpr (!same<M, NoMap>) {
            using One = Full<1>;
            s = double(map.eval(One{}, map.fetch(One{}, b, h, i, j), b, h, i, j, Vec<float, 1>{float(s)}).v);
          }
          if (P::causal && j > i + d.causal_offset) s = -INFINITY;
          p[size_t(j)] = s, high = std::fmax(high, s);
        }
        for (auto& x : p) x = std::isinf(high) ? 0 : std::exp(x - high), sum += x;
        for (i64 c = 0; c < d.dv; c++) {
          double want = 0;
          for (i64 j = 0; j < d.k; j++) want += (sum == 0 ? 0 : p[size_t(j)] / sum) * v(b, h / d.group, j, c);
          const size_t o = size_t(row * d.dv + c);
          const double error = std::fabs(double(y[o]) - 1 - want);
          if (times[o] != 1 || std::isnan(want) != std::isnan(y[o]) || (!std::isnan(want) && !(error <= 2e-5))) right = false;
          worst = std::fmax(worst, error);
        }
      }
  CHECK(right, "attention %s BQ %d BK %d causal %d workers %d b %d h %d group %d q %d k %d d %d dv %d offset %d worst %g%s", name, P::BQ,
        P::BK, P::causal, workers, int(d.b), int(d.h), int(d.group), int(d.q), int(d.k), int(d.d), int(d.dv), int(d.causal_offset), worst,
        context.guard_intact() ? "" : " (scratch overrun)");
}

template <bool causal> void attention_sizes() {
  using P = AttentionParams<6, 2 * lanes, 18, 2 * lanes, causal>;
  using Wide = AttentionParams<12, 2 * lanes, 48, 128, causal>;
  const float bias[8] = {0.01f, -0.02f, 0.f, 0.1f, 0.01f, 0.01f, 0.01f, 0.01f};
  const i64 qs[] = {0, 1, 2, 5, 17, 50}, ks[] = {0, 1, 13, 2 * lanes, 4 * lanes + 7, 300, 2100}, ds[] = {1, 7, 32, 48},
            groups[] = {1, 2, 4};
  int turn = 0;
  for (i64 q : qs)
    for (i64 k : ks)
      for (i64 d : ds)
        for (i64 group : groups) {
          turn++;
          const i64 dv = turn % 3 ? d : 2 * lanes + 3;
          AttentionDims dims{1 + turn % 2, group * (1 + turn / 2 % 2), q, k, d, dv, group, 1 / std::sqrt(double(d)), 0};
          dims.causal_offset = turn % 4 == 0 ? k - q : turn % 4 == 1 ? -2 : turn % 4 == 2 ? 0 : 20;
          const int workers = 1 + turn % 3;
          const Kind kind = turn % 5 == 0 ? Kind::spaced : turn % 5 == 1 ? Kind::column_major : Kind::row_major;
          check_attention<P, float>("plain", workers, dims, kind, NoMap{});
          check_attention<Wide, float>("wide", workers, dims, kind, NoMap{});
          check_attention<P, bf16>("mapped bf16", workers, dims, kind, BiasMap{bias, 3, 0});
          if (k > 100) check_attention<P, float>("blocks masked", workers, dims, kind, BiasMap{bias, 5, turn % 2 ? 70 : 290});
          if (turn % 4 == 0) check_attention<P, float>("all masked", workers, dims, kind, BiasMap{bias, 1, 0});
        }
}
void test_attention() {
  attention_sizes<false>();
  attention_sizes<true>();
}

}  // namespace

int main(int argc, char** argv) {
  const char* only = argc > 1 ? argv[1] : "";
  if (!*only || !strcmp(only, "gemm")) test_gemm();
  if (!*only || !strcmp(only, "attention")) test_attention();
  printf("%d cases, %d failures\n", cases, failures);
  return failures ? 1 : 0;
}
