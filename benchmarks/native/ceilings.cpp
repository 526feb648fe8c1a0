// What this machine can do, measured in the same run as everything that is compared with it: float32 multiply-adds, reading,
// copying with plain and with streaming stores. Compiled for AVX-512 or AVX2 by benchmarks/cpu/ceilings.py.
#include <immintrin.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <chrono>
#include <thread>
#include <vector>

namespace {
double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

template <class F> double together(int threads, F f) {
  std::vector<std::thread> others;
  const double t = now();
  for (int i = 1; i < threads; i++) others.emplace_back(f, i);
  f(0);
  for (auto& o : others) o.join();
  return now() - t;
}

#if defined(__AVX512F__)
typedef float V __attribute__((vector_size(64)));
#else
typedef float V __attribute__((vector_size(32)));
#endif
constexpr int lanes = sizeof(V) / 4;
}  // namespace

extern "C" {

// Multiply-adds of 14 independent chains, in GFLOP/s.
double fma_ceiling(int threads, double seconds) {
  double flops = 0;
  const double used = together(threads, [&](int t) {
    V acc[14];
    for (int i = 0; i < 14; i++) acc[i] = V{} + float(i);
    const V a = V{} + 0.999f, b = V{} + 0.001f;
    double done = 0;
    const double until = now() + seconds;
    while (now() < until) {
      for (int k = 0; k < 4096; k++) {
#pragma GCC unroll 14
        for (int i = 0; i < 14; i++) acc[i] = acc[i] * a + b;
      }
      done += 4096.0 * 14 * lanes * 2;
    }
    float s = 0;
    for (auto& v : acc) s += v[0];
    volatile float keep = s;
    (void)keep;
    if (t == 0) flops = done;
  });
  return flops * threads / used / 1e9;
}

// Seconds to copy `bytes` from one of several buffers to another (kind 0: plain, 1: streaming stores), best of `repeats`.
double copy_seconds(int threads, int64_t bytes, int kind, int repeats, int buffers) {
  std::vector<char*> from, to;
  for (int i = 0; i < buffers; i++) {
    from.push_back(static_cast<char*>(aligned_alloc(4096, size_t(bytes))));
    to.push_back(static_cast<char*>(aligned_alloc(4096, size_t(bytes))));
    memset(from.back(), i + 1, size_t(bytes)), memset(to.back(), 0, size_t(bytes));
  }
  double best = 1e9;
  for (int r = 0; r < repeats; r++) {
    const char* s = from[size_t(r % buffers)];
    char* d = to[size_t(r % buffers)];
    const double t = together(threads, [&](int i) {
      const int64_t lo = bytes / 64 * i / threads * 64, hi = bytes / 64 * (i + 1) / threads * 64;
      for (int64_t k = lo; k < hi; k += sizeof(V)) {
        const V v = *reinterpret_cast<const V*>(s + k);
#if defined(__AVX512F__)
        if (kind) _mm512_stream_ps(reinterpret_cast<float*>(d + k), (__m512)v);
#else
        if (kind) _mm256_stream_ps(reinterpret_cast<float*>(d + k), (__m256)v);
#endif
        else *reinterpret_cast<V*>(d + k) = v;
      }
    });
    if (t < best) best = t;
  }
  for (auto p : from) free(p);
  for (auto p : to) free(p);
  return best;
}

// Bytes per second when `bytes` are read again and again (a footprint in some level of the memory).
double read_bandwidth(int threads, int64_t bytes, int repeats) {
  char* p = static_cast<char*>(aligned_alloc(4096, size_t(bytes)));
  memset(p, 1, size_t(bytes));
  double best = 1e9;
  for (int r = 0; r < repeats; r++) {
    const double t = together(threads, [&](int i) {
      const int64_t lo = bytes / 256 * i / threads * 256, hi = bytes / 256 * (i + 1) / threads * 256;
      V a{}, b{}, c{}, d{};
      for (int64_t k = lo; k < hi; k += 4 * int64_t(sizeof(V))) {
        const V* v = reinterpret_cast<const V*>(p + k);
        a += v[0], b += v[1], c += v[2], d += v[3];
      }
      volatile float keep = (a + b + c + d)[0];
      (void)keep;
    });
    if (t < best) best = t;
  }
  free(p);
  return double(bytes) / best;
}
}
