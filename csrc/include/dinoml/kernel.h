// The ABI of one kernel: what generated entry points take and what the runtime hands them. Plain C, no allocation,
// no environment, no static state behind it.
#pragma once
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// What a kernel may use besides its operands. One context lives for the duration of one launch.
typedef struct dml_ctx {
  // CPU: calls body(arg, begin, end, worker) on disjoint sub-ranges that cover [0, n); each but the last holds a multiple of
  // `grain` items. Returns when all have ended. 0 <= worker < workers; one worker runs one sub-range at a time. May run everything on the caller.
  void (*parallel_for)(const struct dml_ctx* ctx, int64_t n, int64_t grain,
                       void (*body)(void* arg, int64_t begin, int64_t end, int worker), void* arg);
  int workers;      // threads that parallel_for may use, at least 1
  void* scratch;    // 64-byte aligned; as many bytes as the kernel's step asked for; contents undefined
  uint32_t* error;  // error word: 0, or the first dml_error_* that a kernel reported (see kernels' report())
  void* stream;     // CUDA / HIP stream; null on CPU
  void* pool;       // belongs to the runtime
} dml_ctx;

// ptr: operands in the order of the kernel's description; n: its run-time integers (extents, strides). Returns 0, or a
// non-zero launch status.
typedef int (*dml_kernel_fn)(const dml_ctx* ctx, void* const* ptr, const int64_t* n);

// Error word: code in the high 8 bits, the operand's number in the low 24.
enum { dml_error_index = 1 };

#ifdef __cplusplus
}
#endif
