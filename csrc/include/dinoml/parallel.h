// Workers of the run context, and the report of run-time errors.
#pragma once
#include "dinoml/kernel.h"
#include "dinoml/port.h"
#if !DML_GPU && defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace dml {

// The first error of a launch wins; the word is read when the runtime synchronises.
DML_FN void report(uint32_t* word, uint32_t code, uint32_t operand) {
  const uint32_t said = code << 24 | (operand & 0xffffffu);
#if DML_GPU
  atomicCAS(word, 0u, said);
#else
  uint32_t none = 0;
  __atomic_compare_exchange_n(word, &none, said, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
#endif
}

#if !DML_GPU
DML_FN void report(const dml_ctx& ctx, uint32_t code, uint32_t operand) { report(ctx.error, code, operand); }

// f(begin, end, worker) on sub-ranges that cover [0, n), each a multiple of grain but the last.
template <class F> void parallel(const dml_ctx& ctx, i64 n, i64 grain, F&& f) {
  using Body = typename Decay<F>::type;
  if (n <= 0) return;
  auto run = [](void* body, int64_t begin, int64_t end, int worker) {
    (*static_cast<Body*>(body))(i64(begin), i64(end), worker);
#if defined(__SSE2__)
    _mm_sfence();  // non-temporal stores are not ordered by the locks with which the workers meet
#endif
  };
  ctx.parallel_for(&ctx, n, grain < 1 ? 1 : grain, run, const_cast<void*>(static_cast<const void*>(&f)));
}

// The part of the scratch that one worker owns: each has the same number of bytes, a multiple of 64.
template <class T> DML_FN T* worker_scratch(const dml_ctx& ctx, int worker, i64 bytes) {
  return reinterpret_cast<T*>(static_cast<char*>(ctx.scratch) + worker * bytes);
}
#endif

}  // namespace dml
