// Runs and times kernels through their ABI, for `dinoml profile`. A library of its own that a child process loads beside the
// candidates; it knows nothing about them. Operands are addresses inside one block of memory that it owns: on a GPU the same
// functions would hand out device memory, copy, and time with events.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <memory>

#include "dinoml/kernel.h"
#include "runtime/cpu_count.h"
#include "runtime/float_env.h"
#include "runtime/thread_pool.h"

namespace {

using dinoml::rt::ThreadPool;

constexpr int64_t kGuardBytes = 64;
constexpr unsigned char kGuardByte = 0xA5;

// Memory that grows and is zero at first use; its pages stay, so that later operands cost no page faults.
class Block {
 public:
  ~Block() { release(); }
  unsigned char* reserve(int64_t bytes) {
    if (bytes <= bytes_) return data_;
    release();
    void* data = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) return nullptr;
    madvise(data, static_cast<size_t>(bytes), MADV_HUGEPAGE);
    data_ = static_cast<unsigned char*>(data);
    bytes_ = bytes;
    return data_;
  }

 private:
  void release() {
    if (data_) munmap(data_, static_cast<size_t>(bytes_));
    data_ = nullptr;
    bytes_ = 0;
  }
  unsigned char* data_ = nullptr;
  int64_t bytes_ = 0;
};

struct Bench {
  explicit Bench(int workers) : pool(workers) {}
  ThreadPool pool;
  Block operands, scratch;
  uint32_t error = 0;
};

int64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t{t.tv_sec} * 1000000000 + t.tv_nsec;
}

int64_t preemptions() {
  rusage usage;
  return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_nivcsw : 0;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

// Threads that a session uses unless it is told otherwise.
int dml_bench_default_workers() { return dinoml::rt::usable_cores(); }

void* dml_bench_open(int workers) { return new Bench(workers); }
void dml_bench_close(void* bench) { delete static_cast<Bench*>(bench); }

// Memory for all operands, page-aligned; null when there is not so much. An earlier block that is smaller is gone.
void* dml_bench_block(void* bench, int64_t bytes) { return static_cast<Bench*>(bench)->operands.reserve(bytes); }

// Copies between the host and operands, or between operands.
void dml_bench_copy(void*, void* to, const void* from, int64_t bytes) { memcpy(to, from, static_cast<size_t>(bytes)); }

// One run on `scratch` bytes that hold no useful values. Returns the kernel's status, or -1 for no memory, -2 for a write behind the scratch.
int dml_bench_call(void* bench_, dml_kernel_fn kernel, void* const* ptr, const int64_t* n, int64_t scratch, uint32_t* error) {
  Bench& bench = *static_cast<Bench*>(bench_);
  const dinoml::rt::DefaultFloatEnvironment environment;
  scratch = std::max<int64_t>(0, scratch);
  unsigned char* memory = bench.scratch.reserve(scratch + kGuardBytes);
  if (!memory) return -1;
  memset(memory, 0xFF, static_cast<size_t>(scratch));
  memset(memory + scratch, kGuardByte, kGuardBytes);
  bench.error = 0;
  bench.pool.enter();
  const dml_ctx ctx = {ThreadPool::parallel_for, bench.pool.workers(), memory, &bench.error, nullptr, &bench.pool};
  const int status = kernel(&ctx, ptr, n);
  *error = bench.error;
  const unsigned char* guard = memory + scratch;
  return status ? status : std::all_of(guard, guard + kGuardBytes, [](unsigned char b) { return b == kGuardByte; }) ? 0 : -2;
}

// Nanoseconds of `runs` runs in a row. Run i takes row (first + i) % rows of `ptrs`, a table of `width` pointers a row: the
// operands change from run to run, as they do in a model. `*preempted`: how often the system took a CPU from this process
// meanwhile. A call of the same kernel must have succeeded before.
int64_t dml_bench_time(void* bench_, dml_kernel_fn kernel, void* const* ptrs, int width, int rows, int first, const int64_t* n,
                       int64_t runs, int64_t* preempted) {
  Bench& bench = *static_cast<Bench*>(bench_);
  const dinoml::rt::DefaultFloatEnvironment environment;
  bench.pool.enter();
  const dml_ctx ctx = {
      ThreadPool::parallel_for, bench.pool.workers(), bench.scratch.reserve(kGuardBytes), &bench.error, nullptr, &bench.pool};
  int row = first % rows;
  const int64_t before = preemptions();
  const int64_t start = now_ns();
  for (int64_t i = 0; i < runs; ++i) {
    kernel(&ctx, ptrs + int64_t{width} * row, n);
    if (++row == rows) row = 0;
  }
  const int64_t took = now_ns() - start;
  *preempted = preemptions() - before;
  return took;
}

}  // extern "C"
#pragma GCC visibility pop
