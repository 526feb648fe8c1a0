// GEMM and attention templates against the multiply-add ceiling, the read bandwidth and oneDNN with packed weights, in one run:
//   g++ -std=c++17 -O3 -march=native -ffp-contract=off -fopenmp -Icsrc/include -Icsrc/kernels benchmarks/native/gemm_bench.cpp
//   (with the peer: -DPEER_ONEDNN -I<include> -L<lib> -ldnnl); OMP_NUM_THREADS says how many threads.
// Usage: gemm_bench [f32 | bf16 | attention] [repeats]. Each figure is the best of interleaved repeats, as a fraction of the ceiling.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <atomic>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cpu/attention.h"
#include "cpu/gemm.h"
#ifdef PEER_ONEDNN
#include <dnnl.hpp>
#endif

namespace {
using namespace dml;
using namespace dml::cpu;

// With one thread its processor time, which other processes disturb less than the wall clock.
double now() {
  timespec t;
  clock_gettime(omp_get_max_threads() == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}
template <class T> T* allocate(i64 n) {
  T* p = static_cast<T*>(aligned_alloc(4096, size_t(n * i64(sizeof(T)) + 8191) / 4096 * 4096));
  for (i64 i = 0; i < n; i++) p[i] = T{};
  return p;
}
float* random_floats(i64 n) {
  float* p = allocate<float>(n);
  uint32_t s = 1;
  for (i64 i = 0; i < n; i++) s = s * 1664525 + 1013904223, p[i] = float(s >> 8) * 0x1p-24f - 0.5f;
  return p;
}

// As the runtime's pool: chunks of a quarter of a fair share, taken from a counter.
void run_parallel(const dml_ctx* c, int64_t n, int64_t grain, void (*body)(void*, int64_t, int64_t, int), void* arg) {
  const int64_t w = c->workers, share = std::max<int64_t>(1, n / (w * 4)), chunk = (share + grain - 1) / grain * grain;
  if (w == 1) return body(arg, 0, n, 0);
  std::atomic<int64_t> next{0};
#pragma omp parallel num_threads(c->workers)
  for (int64_t begin; (begin = next.fetch_add(chunk)) < n;) body(arg, begin, std::min(n, begin + chunk), omp_get_thread_num());
}

void __attribute__((noinline)) multiply_adds(i64 n) {
  Floats acc[12], b = splat<lanes>(0.999f), c = splat<lanes>(1e-3f);
  for (auto& x : acc) x = splat<lanes>(1.f);
  for (i64 i = 0; i < n; i++)
#pragma GCC unroll 12
    for (int j = 0; j < 12; j++) acc[j] = fma(acc[j], b, c);
  float all[lanes];
  for (auto& x : acc) store_floats(all, x), *const_cast<volatile float*>(all) = all[0];
}
// Sums four streams: bytes a second of plain reads.
void __attribute__((noinline)) read_all(const float* p, i64 n) {
  Floats acc[8];
  for (auto& x : acc) x = splat<lanes>(0.f);
  const i64 part = n / 4 / (2 * lanes) * (2 * lanes);
  for (i64 i = 0; i < part; i += 2 * lanes)
#pragma GCC unroll 8
    for (int j = 0; j < 8; j++) acc[j] = acc[j] + load_floats(p + j / 2 * part + i + j % 2 * lanes);
  float all[lanes];
  for (auto& x : acc) store_floats(all, x), *const_cast<volatile float*>(all) = all[0];
}

template <class S> struct PlainStore {
  S* y;
  i64 ld;
  template <int N> struct Got {};
  template <class L> DML_FN Got<L::width> fetch(L, i64, i64, i64, i64) const { return {}; }
  template <class L> DML_FN void put(L l, const Got<L::width>&, i64, i64, i64 m, i64 n, Vec<float, L::width> v) const {
    store(l, y + m * ld + n, to<S>(v));
  }
};

template <GemmForm F, int mr, int nr, int mc, int kc, int nc> struct Params {
  static constexpr GemmForm form = F;
  static constexpr int MR = mr, NR = nr, MC = mc, KC = kc, NC = nc;
};

struct Timed {
  std::string name;
  std::function<void()> run;
  double best = 1e30;
};
// Interleaved: each repeat runs every entry; the best repeat counts.
void measure(std::vector<Timed>& all, int repeats, double seconds) {
  std::vector<int> loops;
  for (auto& t : all) {
    t.run();
    const double start = now();
    t.run();
    loops.push_back(std::max(1, int(seconds / std::max(1e-7, now() - start))));
  }
  for (int r = 0; r < repeats; r++)
    for (size_t i = 0; i < all.size(); i++) {
      const double start = now();
      for (int l = 0; l < loops[i]; l++) all[i].run();
      all[i].best = std::min(all[i].best, (now() - start) / loops[i]);
    }
}

#ifdef PEER_ONEDNN
std::function<void()> peer(i64 m, i64 n, i64 k, dnnl::memory::data_type type) {
  using namespace dnnl;
  static engine cpu(engine::kind::cpu, 0);
  static stream queue(cpu);
  memory::desc a({m, k}, type, memory::format_tag::ab), b({k, n}, type, memory::format_tag::any), c({m, n}, type, memory::format_tag::ab);
  matmul::primitive_desc pd(cpu, a, b, c);
  auto run = std::make_shared<matmul>(pd);
  memory am(a, cpu), bm(pd.weights_desc(), cpu), cm(c, cpu);
  memset(am.get_data_handle(), 0, a.get_size());
  memset(bm.get_data_handle(), 0, pd.weights_desc().get_size());
  return [=] {
    run->execute(queue, {{DNNL_ARG_SRC, am}, {DNNL_ARG_WEIGHTS, bm}, {DNNL_ARG_DST, cm}});
    queue.wait();
  };
}
#endif

char* scratch = nullptr;
i64 scratch_bytes = 0;
void want_scratch(i64 bytes) {
  if (bytes > scratch_bytes) scratch = allocate<char>(scratch_bytes = bytes);
}

template <class P, class B, class S> Timed entry(const char* name, dml_ctx& ctx, const GemmDims& d, const S* a, S* y, B b) {
  want_scratch(gemm_scratch<P, B>(d) * ctx.workers);
  dml_ctx* c = &ctx;
  return {name, [=] {
            c->scratch = scratch;
            gemm<P>(*c, d, Strided<S>{a, 0, 0, d.k, 1}, b, PlainStore<S>{y, d.n});
          }};
}

constexpr int rows = DML_REGISTER == 64 ? 12 : 6, columns = 2 * lanes;
using Tile = Params<GemmForm::tile, rows, columns, 96, 1024, 1024>;
using Skinny = Params<GemmForm::skinny, rows, columns, 48, 1024, columns>;
using Gemv = Params<GemmForm::gemv, 1, columns, 1, 1024, columns>;
const i64 shapes[][3] = {{512, 512, 512}, {1024, 1024, 1024}, {2048, 2048, 2048}, {128, 1536, 384}, {128, 384, 1536}, {1, 768, 768},
                         {4, 768, 768},   {16, 768, 768},     {1, 3072, 3072},    {4, 3072, 3072},  {16, 3072, 3072}};

struct Ceilings {
  std::vector<Timed> all;
  int workers;
  i64 steps = 400000;
  Ceilings(int w, const float* data, i64 count) : workers(w) {
    all.push_back({"ceiling", [=] {
#pragma omp parallel num_threads(w)
                     multiply_adds(steps);
                   }});
    all.push_back({"read", [=] {
#pragma omp parallel num_threads(w)
                     read_all(data + omp_get_thread_num() * (count / w), count / w);
                   }});
  }
};
// The first two entries are the ceilings, the third the peer where there is one. Returns the peer's time over our best, or 0.
double show(const char* what, std::vector<Timed>& t, const Ceilings& ceilings, double flops, double bytes, int repeats) {
  measure(t, repeats, 0.01);
  const double peak = 2.0 * 12 * lanes * double(ceilings.steps) * ceilings.workers / t[0].best, read = bytes / t[1].best;
  printf("%-18s ceiling %4.0f GFLOP/s, read %3.0f GB/s:", what, peak * 1e-9, read * 1e-9);
  double best = 1e30, peer_time = 0;
  for (size_t i = 2; i < t.size(); i++) {
    printf("  %s %.3f", t[i].name.c_str(), flops / t[i].best / peak);
    if (t[i].name == "onednn")
      peer_time = t[i].best;
    else
      best = std::min(best, t[i].best);
  }
  printf("  | of read %.3f", bytes / best / read);
  if (peer_time > 0) printf("  | peer %.3f", peer_time / best);
  printf("\n");
  fflush(stdout);
  return peer_time / best;
}

template <class S> void matrices(dml_ctx& ctx, int repeats) {
  double sum = 0;
  for (auto& s : shapes) {
    const i64 m = s[0], n = s[1], k = s[2], count = ceil_div(n, columns) * columns * k;
    const GemmDims d{1, 1, m, n, k};
    const float* data = random_floats(count);
    S *a = allocate<S>(m * k), *b = allocate<S>(count), *y = allocate<S>(m * n);
    const Ceilings ceilings(ctx.workers, data, count * i64(sizeof(S)) / 4);
    std::vector<Timed> t = ceilings.all;
    const PackedB<S, columns> packed{b, 0, 0};
#ifdef PEER_ONEDNN
    t.push_back({"onednn", peer(m, n, k, same<S, float> ? dnnl::memory::data_type::f32 : dnnl::memory::data_type::bf16)});
#endif
    t.push_back(entry<Tile>("tile", ctx, d, a, y, packed));
    if (m <= 48) t.push_back(entry<Skinny>("skinny", ctx, d, a, y, packed));
    if (m == 1) t.push_back(entry<Gemv>("gemv", ctx, d, a, y, packed));
#if defined(__AVX512BF16__)
    if constexpr (same<S, bf16>) {
      const PackedBPairs<columns> pairs{reinterpret_cast<const Pair*>(b), 0, 0};
      t.push_back(entry<Tile>("tile pairs", ctx, d, a, y, pairs));
      if (m <= 48) t.push_back(entry<Skinny>("skinny pairs", ctx, d, a, y, pairs));
    }
#endif
    const std::string what = std::to_string(m) + " x " + std::to_string(n) + " x " + std::to_string(k);
    sum += std::log(show(what.c_str(), t, ceilings, 2.0 * double(m * n * k), double(n * k) * sizeof(S), repeats));
    free(const_cast<float*>(data)), free(a), free(b), free(y);
  }
#ifdef PEER_ONEDNN
  printf("geometric mean over the peer %.3f\n", std::exp(sum / double(sizeof shapes / sizeof shapes[0])));
#endif
}

struct HeadStore {
  float* y;
  i64 s0, s1, s2;
  template <int N> struct Got {};
  template <class L> DML_FN Got<L::width> fetch(L, i64, i64, i64, i64) const { return {}; }
  template <class L> DML_FN void put(L l, const Got<L::width>&, i64 b, i64 h, i64 q, i64 v, Vec<float, L::width> x) const {
    store(l, y + b * s0 + h * s1 + q * s2 + v, to<float>(x));
  }
};
template <bool masked> struct AttentionParams {
  static constexpr int MR = rows, NR = columns, BQ = 16 * rows, BK = 16 * columns;
  static constexpr bool causal = masked;
};
template <bool causal> void heads(dml_ctx& ctx, int repeats, i64 b, i64 h, i64 group, i64 q, i64 k, i64 width) {
  using P = AttentionParams<causal>;
  const AttentionDims d{b, h, q, k, width, width, group, 1 / std::sqrt(double(width)), k - q};
  const i64 kv = h / group, ld = (h + 2 * kv) * width;
  float *x = random_floats(b * k * ld), *y = allocate<float>(b * q * h * width);
  Strided<float> qs{x, k * ld, width, ld, 1}, ks{x + h * width, k * ld, width, ld, 1}, vs{x + (h + kv) * width, k * ld, width, ld, 1};
  if (q == 1)
    ks = {x, 2 * kv * k * width, k * width, width, 1}, vs = ks, vs.p += kv * k * width;  // decoding reads a cache, not a merged matrix
  const AttentionBytes bytes = attention_scratch<P>(d);
  want_scratch(bytes.shared + bytes.each * ctx.workers);
  const i64 count = b * k * 2 * kv * width;
  const Ceilings ceilings(ctx.workers, x, count);
  std::vector<Timed> t = ceilings.all;
  t.push_back({"attention", [&] {
                 ctx.scratch = scratch;
                 attention<P>(ctx, d, qs, ks, vs, NoMap{}, HeadStore{y, q * h * width, width, h * width});
               }});
  char what[64];
  snprintf(what, sizeof what, "b%d h%d/%d q%d k%d d%d", int(b), int(h), int(kv), int(q), int(k), int(width));
  show(what, t, ceilings, 4.0 * double(b * h * q * k * width) * (causal ? 0.5 : 1), double(count) * 4, repeats);
  free(x), free(y);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string only = argc > 1 ? argv[1] : "";
  const int repeats = argc > 2 ? atoi(argv[2]) : 15;
  dml_ctx ctx{};
  ctx.workers = omp_get_max_threads();
  ctx.parallel_for = run_parallel;
  printf("%d threads, %d lanes\n", ctx.workers, lanes);
  if (only.empty() || only == "f32") matrices<float>(ctx, repeats);
  if (only.empty() || only == "bf16") matrices<bf16>(ctx, repeats);
  if (only.empty() || only == "attention") {
    heads<false>(ctx, repeats, 1, 12, 1, 128, 128, 32);
    heads<false>(ctx, repeats, 8, 12, 1, 128, 128, 32);
    heads<false>(ctx, repeats, 1, 12, 1, 512, 512, 64);
    heads<true>(ctx, repeats, 1, 32, 4, 1024, 1024, 64);
    heads<false>(ctx, repeats, 1, 9, 3, 1, 512, 64);
    heads<false>(ctx, repeats, 1, 32, 4, 1, 4096, 64);
    heads<false>(ctx, repeats, 1, 32, 1, 1, 1024, 64);
  }
  return 0;
}
