// The threads of one session. A parallel loop is published through one atomic word, the gate; workers that are awake join it,
// and the caller works too. The caller waits only for workers that have joined, so that one that sleeps or lost its CPU
// costs nothing. Each worker begins with its own part of the range, the same part in loops of equal length, so that what one
// kernel wrote is in the cache of the core that reads it in the next. Workers spin for a while before they sleep: kernels of
// one run follow each other within microseconds.
#pragma once
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <sys/types.h>

#include <atomic>
#include <memory>
#include <vector>

#include "dinoml/kernel.h"

namespace dinoml::rt {

class ThreadPool {
 public:
  using Body = void (*)(void* arg, int64_t begin, int64_t end, int worker);

  explicit ThreadPool(int workers);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int workers() const { return workers_; }

  // To be called before a run: starts the threads on first use, and again in a forked child, which has none.
  void enter();

  void run(int64_t n, int64_t grain, Body body, void* arg);

  // dml_ctx::parallel_for, for a context whose `pool` is a ThreadPool.
  static void parallel_for(const dml_ctx* ctx, int64_t n, int64_t grain, Body body, void* arg);

 private:
  // gate_: how many workers are inside (low 16 bits), whether the loop may be joined (bit 16), the loop's number (the rest).
  static constexpr uint64_t kActive = 0xFFFF, kOpen = 0x10000, kNumber = 0x20000;

  // The next chunk of a worker's own part of the loop. Whoever is done with his part takes from the others'.
  struct alignas(64) Share {
    std::atomic<int64_t> next{0};
  };

  struct Start {
    ThreadPool* pool;
    int worker;
  };

  static void* thread_main(void* start);
  void work(int worker);
  uint64_t wait_for_loop(uint64_t seen, int64_t& moved_ns);
  void sleep_until_published(uint64_t seen);
  int64_t part_begin(int worker) const { return chunk_count_ * worker / workers_; }
  void chunks(int worker);
  void leave_callers_cpu(int64_t& last_ns) const;
  void start_threads();
  void stop_threads();

  const int workers_;
  const int64_t spin_ns_;
  pid_t pid_ = 0;
  cpu_set_t allowed_;  // CPUs that the process may use
  std::vector<pthread_t> threads_;
  std::vector<Start> starts_;

  Body body_ = nullptr;
  void* arg_ = nullptr;
  int64_t n_ = 0, chunk_ = 1, chunk_count_ = 0;
  std::atomic<int> caller_cpu_{-1};
  std::unique_ptr<Share[]> shares_;
  alignas(64) std::atomic<uint64_t> gate_{0};
  alignas(64) std::atomic<uint32_t> wake_{0};
  std::atomic<int32_t> sleepers_{0};
  std::atomic<bool> stop_{false};
};

}  // namespace dinoml::rt
