// Every CPU row template against plain loops in double: edge extents (0, 1, primes, past a tile), both forms, all lane
// widths, strided operands, special values. Each element must be evaluated once, and the number of workers must not change
// a bit. Prints what fails; the exit status is 1 then.
#include "cpu/norm.h"
#include "cpu/pointwise.h"
#include "cpu/reduce.h"
#include "cpu/softmax.h"
#include "cpu/topk.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <algorithm>
#include <string>
#include <thread>
#include <vector>

using namespace dml;

namespace {

int failures = 0;
void fail(const std::string& what) { if (failures++ < 40) printf("FAILED %s\n", what.c_str()); }

// ------------------------------------------------------------------------------------------------ a run context
void run_threads(const dml_ctx* ctx, int64_t n, int64_t grain, void (*body)(void*, int64_t, int64_t, int), void* arg) {
  const int64_t chunks = (n + grain - 1) / grain, each = (chunks + ctx->workers - 1) / ctx->workers * grain;
  std::vector<std::thread> threads;
  for (int w = 0; w < ctx->workers && w * each < n; w++) threads.emplace_back([=] { body(arg, w * each, std::min(n, (w + 1) * each), w); });
  for (auto& t : threads) t.join();
}
struct Context {
  uint32_t error = 0;
  void* scratch;
  dml_ctx ctx;
  Context(int workers, size_t bytes) : scratch(aligned_alloc(64, (bytes + 63) / 64 * 64 + 64)), ctx{run_threads, workers, scratch, &error, nullptr, nullptr} {
    memset(scratch, 0xff, bytes + 64);
  }
  ~Context() { free(scratch); }
};

// ------------------------------------------------------------------------------------------------ accessors
struct Extents { i64 n0, n1, n2, n3; i64 size() const { return n0 * n1 * n2 * n3; } };
template <class S> struct Load {
  const S* p;
  uint8_t* seen;  // how often each element was evaluated
  Extents e;
  i64 pitch;      // elements between neighbours along i3
  DML_FN i64 at(i64 i0, i64 i1, i64 i2, i64 i3) const { return ((i0 * e.n1 + i1) * e.n2 + i2) * e.n3 + i3; }
  template <int N> struct Got { Raw<S, N> x; };
  template <class L> DML_FN Got<L::width> fetch(L l, i64 i0, i64 i1, i64 i2, i64 i3) const {
    if (pitch == 1) return {load(l, p + at(i0, i1, i2, i3))};
    return {load_strided(l, p + at(i0, i1, i2, i3) * pitch, pitch)};
  }
  template <class L> DML_FN auto eval(L l, const Got<L::width>& g, i64 i0, i64 i1, i64 i2, i64 i3) const {
    for (int k = 0; k < L::width; k++) if (hany(first<L::width>(k + 1) & lanes_of(l) & ~first<L::width>(k))) __atomic_fetch_add(seen + at(i0, i1, i2, i3) + k, 1, __ATOMIC_RELAXED);
    return value(g.x);
  }
  template <int N> static Vec<bool, N> lanes_of(Full<N>) { return first<N>(N); }
  template <int N> static Vec<bool, N> lanes_of(Part<N> l) { return first<N>(l.n); }
};
template <class S> struct Store {
  S* p;
  Extents e;
  template <int N> struct Got {};
  template <class L> DML_FN Got<L::width> fetch(L, i64, i64, i64, i64) const { return {}; }
  template <class L, class T> DML_FN void put(L l, const Got<L::width>&, i64 i0, i64 i1, i64 i2, i64 i3, Vec<T, L::width> v) const {
    store(l, p + ((i0 * e.n1 + i1) * e.n2 + i2) * e.n3 + i3, to<S>(v));
  }
};

// ------------------------------------------------------------------------------------------------ data, comparison
uint64_t state = 1;
uint32_t next() { state = state * 6364136223846793005ull + 1442695040888963407ull; return uint32_t(state >> 33); }
template <class S> S random_value() {
  if constexpr (same<S, float>) return float(int(next() % 20001) - 10000) / 2500.f + 0.25f;
  else if constexpr (same<S, b8>) return b8{uint8_t(next() % 7 == 0)};
  else return S(int(next() % 200) - 100);
}
double as_double(float x) { return x; }
double as_double(int32_t x) { return x; }
double as_double(int64_t x) { return double(x); }
double as_double(b8 x) { return x.bits; }

struct Out { std::vector<double> got, want; i64 row; double limit; };
void compare(const std::string& what, const Out& o) {
  for (size_t lo = 0; lo < o.want.size(); lo += o.row) {
    double square = 0;
    i64 finite = 0;
    for (i64 k = 0; k < o.row; k++) if (isfinite(o.want[lo + k])) square += o.want[lo + k] * o.want[lo + k], finite++;
    const double rms = finite ? sqrt(square / finite) : 0;
    for (i64 k = 0; k < o.row; k++) {
      const double g = o.got[lo + k], w = o.want[lo + k];
      const bool ok = w != w ? g != g : isinf(w) ? g == w : fabs(g - w) <= o.limit * 0x1p-23 * (fabs(w) + rms);
      if (!ok) { fail(what + ": element " + std::to_string(lo + k) + " is " + std::to_string(g) + ", wanted " + std::to_string(w)); return; }
    }
  }
}
std::string text(Extents e) { return std::to_string(e.n0) + "x" + std::to_string(e.n1) + "x" + std::to_string(e.n2) + "x" + std::to_string(e.n3); }

// Runs kernel(ctx, load, outputs) with one and with three workers; returns the outputs, with a guard behind them.
template <class S, class R, class Kernel> std::vector<R> run(const std::string& what, Extents e, const std::vector<S>& x, i64 pitch, size_t results, size_t scratch, Kernel kernel) {
  std::vector<R> first_result;
  for (int workers : {1, 3}) {
    std::vector<uint8_t> seen(e.size() + 64);
    std::vector<R> y(results + 64);
    memset(static_cast<void*>(y.data()), 0x5a, y.size() * sizeof(R));
    Context c(workers, scratch * workers);
    if (kernel(c.ctx, Load<S>{x.data(), seen.data(), e, pitch}, y.data()) != 0) fail(what + ": status");
    for (i64 i = 0; i < e.size() + 64; i++) if (seen[i] != (i < e.size())) { fail(what + ": element evaluated " + std::to_string(seen[i]) + " times"); break; }
    std::vector<R> guard(64);
    memset(static_cast<void*>(guard.data()), 0x5a, 64 * sizeof(R));
    if (memcmp(guard.data(), y.data() + results, 64 * sizeof(R))) fail(what + ": written past the end");
    y.resize(results);
    if (workers == 1) first_result = y;
    else if (results && memcmp(first_result.data(), y.data(), results * sizeof(R))) fail(what + ": depends on the number of workers");
  }
  return first_result;
}
template <class S> std::vector<S> data(Extents e, i64 pitch) {
  std::vector<S> x(e.size() * pitch + 64);
  for (auto& v : x) v = random_value<S>();
  return x;
}

// ------------------------------------------------------------------------------------------------ reduce
template <int W, cpu::Form F, class Op> struct ReduceP { static constexpr int width = W; static constexpr cpu::Form form = F; using op = Op; };
template <class Op> double reduced(const std::vector<double>& v) {
  using namespace cpu;
  if constexpr (same<Op, ArgMax> || same<Op, ArgMin>) {
    size_t best = 0;
    for (size_t i = 1; i < v.size(); i++) {
      if (v[best] != v[best]) break;
      if (v[i] != v[i] || (same<Op, ArgMax> ? v[i] > v[best] : v[i] < v[best])) best = i;
    }
    return double(best);
  }
  double r = same<Op, Prod> || same<Op, All> ? 1 : same<Op, Max> ? -INFINITY : same<Op, Min> ? INFINITY : 0;
  for (double x : v) {
    if (same<Op, Sum>) r += x;
    else if (same<Op, Prod>) r *= x;
    else if (same<Op, Any>) r = r != 0 || x != 0;
    else if (same<Op, All>) r = r != 0 && x != 0;
    else if (r == r) r = x != x ? x : same<Op, Max> ? fmax(r, x) : fmin(r, x);
  }
  return r;
}
template <int W, cpu::Form F, class Op, class S> void check_reduce(const char* name, Extents e, bool special, i64 pitch = 1) {
  const std::string what = std::string("reduce ") + name + (F == cpu::Form::rows ? " rows " : " columns ") + text(e) + " lanes " + std::to_string(W) + (special ? " special" : "");
  auto x = data<S>(e, pitch);
  if constexpr (same<S, float>) {
    if (special) for (size_t i = 0; i < x.size(); i++) if (next() % 61 == 0) x[i] = next() % 3 == 0 ? NAN : next() % 2 ? INFINITY : -INFINITY;
    if (same<Op, cpu::Prod>) for (auto& v : x) v = 1 + (v - 0.25f) * 1e-2f;
    if (special && next() % 2) for (auto& v : x) v = -INFINITY;
  }
  using R = typename Op::template Result<compute_t<S>>;
  using Stored = std::conditional_t<same<R, bool>, b8, R>;
  const bool rows = F == cpu::Form::rows;
  const i64 results = rows ? e.n0 * e.n1 * e.n2 : e.n0 * e.n1 * e.n3;
  const Extents out = rows ? Extents{e.n0, e.n1, e.n2, 1} : Extents{e.n0, e.n1, 1, e.n3};
  auto y = run<S, Stored>(what, e, x, pitch, results, 256 * 1024, [&](const dml_ctx& ctx, auto load, Stored* p) {
    return cpu::reduce<ReduceP<W, F, Op>>(ctx, cpu::ReduceDims{e.n0, e.n1, e.n2, e.n3}, load, Store<Stored>{p, out});
  });
  Out o{{}, {}, rows ? 1 : e.n3, same<S, float> && !same<R, int64_t> ? 2 + 0.5 * sqrt(double(rows ? e.n3 : e.n2)) : 0};
  for (i64 i = 0; i < results; i++) {
    std::vector<double> v;
    const i64 n = rows ? e.n3 : e.n2, from = rows ? i * e.n3 : i / e.n3 * e.n2 * e.n3 + i % e.n3, step = rows ? 1 : e.n3;
    for (i64 k = 0; k < n; k++) v.push_back(as_double(x[(from + k * step) * pitch]));
    o.want.push_back(reduced<Op>(v));
    o.got.push_back(as_double(y[i]));
    // a sum is judged against the size of what it adds
    if (o.limit > 0 && same<Op, cpu::Sum>) { double s = 0; for (double t : v) s += fabs(t); if (isfinite(s) && isfinite(o.want[i])) { o.got[i] += s, o.want[i] += s; } }
  }
  if (results) compare(what, o);
}
template <int W, cpu::Form F> void all_reductions() {
  const Extents rows[] = {{1, 1, 1, 0}, {1, 1, 1, 1}, {2, 3, 5, 7}, {1, 2, 3, 131}, {1, 1, 1, 100003}, {3, 1, 1, 70001}, {0, 1, 1, 5}, {17, 1, 1, 40009}, {1, 1, 2, 4097}};
  const Extents columns[] = {{1, 1, 0, 5}, {1, 1, 1, 1}, {2, 3, 7, 5}, {1, 1, 5003, 67}, {1, 2, 131, 1031}, {1, 1, 9001, 3}, {3, 1, 29, 2063}, {1, 15, 4099, 64}, {1, 1, 5, 0}};
  for (const Extents& e : F == cpu::Form::rows ? rows : columns) for (bool special : {false, true}) {
    if (e.size() > 200000 && special) continue;
    check_reduce<W, F, cpu::Sum, float>("sum", e, special);
    check_reduce<W, F, cpu::Max, float>("max", e, special);
    check_reduce<W, F, cpu::ArgMax, float>("argmax", e, special && e.n2 * e.n3 > 0);
    check_reduce<W, F, cpu::ArgMin, float>("argmin", e, special && e.n2 * e.n3 > 0);
    if (e.size() > 100000) continue;
    check_reduce<W, F, cpu::Min, float>("min", e, special, 3);
    check_reduce<W, F, cpu::Prod, float>("prod", e, special);
    check_reduce<W, F, cpu::Any, b8>("any", e, false);
    check_reduce<W, F, cpu::All, b8>("all", e, false);
    check_reduce<W, F, cpu::Sum, int64_t>("sum int64", e, false);
    if (e.n2 * e.n3 > 0) check_reduce<W, F, cpu::Max, int32_t>("max int32", e, false), check_reduce<W, F, cpu::ArgMax, int64_t>("argmax int64", e, false);
  }
}

// ------------------------------------------------------------------------------------------------ softmax, norm
// fn(line, n) rewrites one line of the reduction.
template <class Fn> Out lines(Extents e, bool rows, const std::vector<float>& x, const std::vector<float>& y, Fn fn) {
  const i64 n = rows ? e.n3 : e.n2, count = n ? e.size() / n : 0;
  Out o{std::vector<double>(e.size()), std::vector<double>(e.size()), n, 2 + 0.5 * sqrt(double(n))};
  for (i64 i = 0; i < count; i++) {
    const i64 from = rows ? i * n : i / e.n3 * n * e.n3 + i % e.n3, step = rows ? 1 : e.n3;
    std::vector<double> v(n);
    for (i64 k = 0; k < n; k++) v[k] = x[from + k * step];
    fn(v);
    for (i64 k = 0; k < n; k++) o.want[i * n + k] = v[k], o.got[i * n + k] = y[from + k * step];
  }
  return o;
}
template <int W, cpu::Form F, bool Log> struct SoftmaxP { static constexpr int width = W; static constexpr cpu::Form form = F; static constexpr bool log = Log; };
template <int W, cpu::Form F, bool Log> void check_softmax(Extents e, int special) {
  const bool rows = F == cpu::Form::rows;
  const std::string what = std::string(Log ? "log_" : "") + "softmax " + (rows ? "rows " : "columns ") + text(e) + " lanes " + std::to_string(W) + (special ? " special" : "");
  auto x = data<float>(e, 1);
  for (auto& v : x) v = special == 2 ? -INFINITY : special == 1 && next() % 97 == 0 ? NAN : special == 1 && next() % 5 == 0 ? -INFINITY : special == 3 ? v * 40 : v;
  const size_t scratch = rows ? 4 * cpu::round_up(e.n3, 64) : cpu::round_up(4 * e.n2 * cpu::column_block(e.n2), 64);
  auto y = run<float, float>(what, e, x, 1, e.size(), scratch, [&](const dml_ctx& ctx, auto load, float* p) {
    return cpu::softmax<SoftmaxP<W, F, Log>>(ctx, cpu::SoftmaxDims{e.n0, e.n1, e.n2, e.n3}, load, Store<float>{p, e});
  });
  compare(what, lines(e, rows, x, y, [](std::vector<double>& v) {
    double m = -INFINITY, s = 0;
    for (double t : v) m = t != t || m != m ? NAN : fmax(m, t);
    for (double t : v) s += exp(t - m);
    for (double& t : v) t = Log ? t - m - log(s) : exp(t - m) / s;
  }));
}
template <int W, cpu::Form F, cpu::Norm K> struct NormP { static constexpr int width = W; static constexpr cpu::Form form = F; static constexpr cpu::Norm kind = K; };
template <int W, cpu::Form F, cpu::Norm K> void check_norm(Extents e, double offset) {
  const bool rows = F == cpu::Form::rows;
  const double eps = 1e-5;
  const std::string what = std::string("norm ") + std::to_string(int(K)) + (rows ? " rows " : " columns ") + text(e) + " lanes " + std::to_string(W) + " offset " + std::to_string(offset);
  auto x = data<float>(e, 1);
  for (auto& v : x) v += float(offset);
  const size_t scratch = rows ? 4 * cpu::round_up(e.n3, 64) : cpu::round_up(4 * e.n2 * cpu::column_block(e.n2), 64);
  auto y = run<float, float>(what, e, x, 1, e.size(), scratch, [&](const dml_ctx& ctx, auto load, float* p) {
    return cpu::norm<NormP<W, F, K>>(ctx, cpu::NormDims{e.n0, e.n1, e.n2, e.n3, eps}, load, Store<float>{p, e});
  });
  compare(what, lines(e, rows, x, y, [&](std::vector<double>& v) {
    double mean = 0, square = 0;
    const double n = double(v.size());
    if (K == cpu::Norm::standard) { for (double t : v) mean += t / n; }
    for (double t : v) square += (t - mean) * (t - mean);
    for (double& t : v) t = (t - mean) / (K == cpu::Norm::l2 ? fmax(sqrt(square), eps) : sqrt(square / n + eps));
  }));
}
template <int W, cpu::Form F> void all_rows() {
  const Extents rows[] = {{1, 1, 1, 1}, {1, 1, 3, 2}, {2, 3, 5, 7}, {1, 2, 3, 131}, {1, 1, 37, 1000}, {1, 1, 1, 70001}, {1, 1, 1, 0}, {0, 2, 1, 5}, {5, 1, 1, 4096}};
  const Extents columns[] = {{1, 1, 1, 1}, {1, 1, 2, 3}, {2, 3, 7, 5}, {1, 1, 1000, 37}, {2, 1, 131, 519}, {1, 1, 5003, 17}, {1, 1, 0, 4}, {1, 3, 9, 0}, {3, 1, 64, 256}};
  for (const Extents& e : F == cpu::Form::rows ? rows : columns) {
    for (int special : {0, 1, 2, 3}) check_softmax<W, F, false>(e, special), check_softmax<W, F, true>(e, special);
    for (double offset : {0., 100.}) {
      if (offset != 0 && (F == cpu::Form::rows ? e.n3 : e.n2) < 5) continue;
      check_norm<W, F, cpu::Norm::standard>(e, offset), check_norm<W, F, cpu::Norm::rms>(e, offset), check_norm<W, F, cpu::Norm::l2>(e, offset);
    }
  }
}

// ------------------------------------------------------------------------------------------------ topk, pointwise
template <int W, bool Largest> struct TopkP { static constexpr int width = W; static constexpr bool largest = Largest; };
template <int W, bool Largest, class S> void check_topk(Extents e, i64 k, bool special) {
  const std::string what = std::string("topk ") + (Largest ? "largest " : "smallest ") + text(e) + " k " + std::to_string(k) + " lanes " + std::to_string(W);
  auto x = data<S>(e, 1);
  if constexpr (same<S, float>) if (special) for (auto& v : x) v = next() % 31 == 0 ? NAN : next() % 29 == 0 ? -INFINITY : next() % 7 == 0 ? -0.f : next() % 5 == 0 ? 0.f : v;
  const Extents out{e.n0, e.n1, e.n2, k};
  struct Pair { S v; int64_t at; };
  std::vector<S> values(out.size());
  auto places = run<S, int64_t>(what, e, x, 1, out.size(), cpu::round_up(24 * k, 64), [&](const dml_ctx& ctx, auto load, int64_t* p) {
    return cpu::topk<TopkP<W, Largest>>(ctx, cpu::TopkDims{e.n0, e.n1, e.n2, e.n3, k}, load, Store<S>{values.data(), out}, Store<int64_t>{p, out});
  });
  for (i64 row = 0; row < e.n0 * e.n1 * e.n2; row++) {
    std::vector<i64> order(e.n3);
    for (i64 i = 0; i < e.n3; i++) order[i] = i;
    const S* v = x.data() + row * e.n3;
    std::stable_sort(order.begin(), order.end(), [&](i64 a, i64 b) {
      const bool an = v[a] != v[a], bn = v[b] != v[b];
      if (an || bn) return Largest ? an && !bn : !an && bn;
      return Largest ? v[a] > v[b] : v[a] < v[b];
    });
    for (i64 j = 0; j < k; j++) {
      const S want = v[order[j]], got = values[row * k + j];
      if (places[row * k + j] != order[j] || memcmp(&want, &got, sizeof(S))) { fail(what + ": row " + std::to_string(row) + " place " + std::to_string(j)); return; }
    }
  }
}
template <int W, int U, int R> struct PointwiseP { static constexpr int width = W, unroll = U, rows = R; };
struct Affine {  // y = 2 x + w[i3], and y again as a count of visits
  Load<float> x;
  const float* w;
  float* y;
  template <int N> struct Got { Load<float>::Got<N> x; Raw<float, N> w; };
  template <class L> DML_FN Got<L::width> fetch(L l, i64 i0, i64 i1, i64 i2, i64 i3) const { return {x.fetch(l, i0, i1, i2, i3), load(l, w + i3)}; }
  template <class L> DML_FN void run(L l, const Got<L::width>& g, i64 i0, i64 i1, i64 i2, i64 i3) const {
    store_stream(l, y + x.at(i0, i1, i2, i3), to<float>(fma(x.eval(l, g.x, i0, i1, i2, i3), splat<L::width>(2.f), value(g.w))));
  }
};
template <int W, int U, int R> void check_pointwise(Extents e) {
  const std::string what = "pointwise " + text(e) + " lanes " + std::to_string(W) + " unroll " + std::to_string(U) + " rows " + std::to_string(R);
  auto x = data<float>(e, 1);
  std::vector<float> w(e.n3 + 64);
  for (auto& v : w) v = random_value<float>();
  auto y = run<float, float>(what, e, x, 1, e.size(), 0, [&](const dml_ctx& ctx, auto load, float* p) {
    return cpu::pointwise<PointwiseP<W, U, R>>(ctx, cpu::PointwiseDims{e.n0, e.n1, e.n2, e.n3}, Affine{load, w.data(), p});
  });
  for (i64 i = 0; i < e.size(); i++) if (y[i] != fmaf(x[i], 2.f, w[i % e.n3])) { fail(what + ": element " + std::to_string(i)); return; }
}

template <int W> void all() {
  all_reductions<W, cpu::Form::rows>(), all_reductions<W, cpu::Form::columns>();
  all_rows<W, cpu::Form::rows>(), all_rows<W, cpu::Form::columns>();
  const Extents top[] = {{1, 1, 1, 1}, {2, 1, 3, 7}, {1, 1, 5, 131}, {1, 2, 1, 10007}, {0, 1, 1, 4}};
  for (const Extents& e : top) for (i64 k : {i64(1), e.n3 / 2 + 1, e.n3}) for (bool special : {false, true}) {
    check_topk<W, true, float>(e, k, special), check_topk<W, false, float>(e, k, special);
    check_topk<W, true, int64_t>(e, k, false), check_topk<W, false, int32_t>(e, k, false);
  }
  const Extents grids[] = {{1, 1, 1, 1}, {2, 3, 5, 7}, {1, 1, 1, 100003}, {3, 1, 7, 2063}, {1, 5, 1000, 3}, {0, 1, 1, 1}, {1, 1, 3, 0}, {2, 2, 9, 16411}};
  for (const Extents& e : grids) check_pointwise<W, 1, 1>(e), check_pointwise<W, 4, 1>(e), check_pointwise<W, 1, 4>(e), check_pointwise<W, 2, 2>(e);
}

}  // namespace

int main() {
  all<native<float>>();
  // other lane counts: two registers, and less than one
  all_rows<2 * native<float>, cpu::Form::rows>(), all_rows<2 * native<float>, cpu::Form::columns>();
  check_reduce<2 * native<float>, cpu::Form::rows, cpu::ArgMax, float>("argmax", {3, 1, 1, 70001}, false);
  check_reduce<2, cpu::Form::columns, cpu::Sum, float>("sum", {1, 2, 131, 31}, false);
  check_pointwise<1, 2, 1>({1, 5, 100, 3}), check_pointwise<2 * native<float>, 2, 4>({2, 3, 9, 2063});
  printf(failures ? "%d checks failed\n" : "all checks passed\n", failures);
  return failures != 0;
}
