// GEMM templates against the multiply-add ceiling, the read bandwidth and oneDNN with packed weights, all in one run:
//   g++ -std=c++17 -O3 -march=native -ffp-contract=off -fopenmp -Icsrc/include -Icsrc/kernels benchmarks/native/gemm_bench.cpp
//   (with the peer: -DPEER_ONEDNN -I<include> -L<lib> -ldnnl); OMP_NUM_THREADS says how many threads.
// Usage: gemm_bench [repeats]. Each figure is the best of interleaved repeats; operands rotate through copies where asked.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cpu/gemm.h"
#ifdef PEER_ONEDNN
#include <dnnl.hpp>
#endif

namespace {
using namespace dml;
using namespace dml::cpu;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
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
  template <class L> DML_FN void put(L l, const Got<L::width>&, i64, i64, i64 m, i64 n, Vec<float, L::width> v) const { store(l, y + m * ld + n, to<S>(v)); }
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
std::function<void()> peer(i64 m, i64 n, i64 k, dnnl::memory::data_type type, i64 copies) {
  using namespace dnnl;
  static engine cpu(engine::kind::cpu, 0);
  static stream queue(cpu);
  memory::desc a({m, k}, type, memory::format_tag::ab), b({k, n}, type, memory::format_tag::any), c({m, n}, type, memory::format_tag::ab);
  matmul::primitive_desc pd(cpu, a, b, c);
  auto run = std::make_shared<matmul>(pd);
  memory am(a, cpu), cm(c, cpu);
  std::vector<memory> bm;
  memset(am.get_data_handle(), 0, a.get_size());
  for (i64 i = 0; i < copies; i++) bm.emplace_back(pd.weights_desc(), cpu), memset(bm.back().get_data_handle(), 0, pd.weights_desc().get_size());
  auto turn = std::make_shared<size_t>(0);
  return [=] {
    run->execute(queue, {{DNNL_ARG_SRC, am}, {DNNL_ARG_WEIGHTS, bm[(*turn)++ % bm.size()]}, {DNNL_ARG_DST, cm}});
    queue.wait();
  };
}
#endif

i64 scratch_held = 0;
template <class P, class B, class S> Timed entry(const char* name, dml_ctx& ctx, const GemmDims& d, const S* a, S* y, std::vector<B> b) {
  auto turn = std::make_shared<size_t>(0);
  const i64 bytes = gemm_scratch<P, B>(d) * ctx.workers;
  if (bytes > scratch_held) ctx.scratch = allocate<char>(scratch_held = bytes);
  dml_ctx* c = &ctx;
  return {name, [=] { gemm<P>(*c, d, Strided<S>{a, 0, 0, d.k, 1}, b[(*turn)++ % b.size()], PlainStore<S>{y, d.n}); }};
}

#include GEMM_BENCH_CASES
}  // namespace

int main(int argc, char** argv) {
  run_cases(argc, argv);
  return 0;
}
