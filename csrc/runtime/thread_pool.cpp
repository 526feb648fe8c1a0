#include "thread_pool.h"

#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "cpu_count.h"
#include "float_env.h"

namespace dinoml::rt {
namespace {

constexpr int64_t kSpinNs = 100000;
constexpr int64_t kMoveEveryNs = 1000000;
constexpr int kChunksPerWorker = 4;  // what others can take from a worker that starts late

// The worker number of the body that this thread is in, or -1: a loop inside a loop runs inline with the same number.
thread_local int current_worker = -1;

void pause_cpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

int64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t{t.tv_sec} * 1000000000 + t.tv_nsec;
}

void futex_wait(std::atomic<uint32_t>& word, uint32_t expected) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}

void futex_wake(std::atomic<uint32_t>& word, int count) { syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0); }

}  // namespace

ThreadPool::ThreadPool(int workers)
    : workers_(std::max(1, workers)),
      spin_ns_(workers_ <= logical_cpus() ? kSpinNs : 0),
      shares_(new Share[static_cast<size_t>(workers_)]) {}

ThreadPool::~ThreadPool() {
  if (pid_ == getpid()) stop_threads();
}

void ThreadPool::enter() {
  if (workers_ == 1 || pid_ == getpid()) return;
  threads_.clear();
  gate_.store(0);
  sleepers_.store(0);
  pid_ = getpid();
  start_threads();
}

// Fewer threads than wanted only make loops slower, so a failure to start one is no error.
void ThreadPool::start_threads() {
  if (sched_getaffinity(0, sizeof allowed_, &allowed_) != 0) CPU_ZERO(&allowed_);
  sigset_t all, before;
  sigfillset(&all);
  starts_.resize(static_cast<size_t>(workers_));
  pthread_sigmask(SIG_SETMASK, &all, &before);  // the host's threads handle the host's signals
  for (int worker = 1; worker < workers_; ++worker) {
    Start& start = starts_[static_cast<size_t>(worker)];
    start = {this, worker};
    pthread_t thread;
    if (pthread_create(&thread, nullptr, thread_main, &start) != 0) break;
    threads_.push_back(thread);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void ThreadPool::stop_threads() {
  stop_.store(true);
  wake_.fetch_add(1);
  futex_wake(wake_, INT_MAX);
  for (const pthread_t thread : threads_) pthread_join(thread, nullptr);
}

void* ThreadPool::thread_main(void* start) {
  const Start& s = *static_cast<Start*>(start);
  s.pool->work(s.worker);
  return nullptr;
}

void ThreadPool::work(int worker) {
  const DefaultFloatEnvironment environment;
  uint64_t seen = 0;
  int64_t moved_ns = 0;
  while (true) {
    uint64_t gate = wait_for_loop(seen, moved_ns);
    if (stop_.load(std::memory_order_relaxed)) return;
    if (!gate_.compare_exchange_strong(gate, gate + 1, std::memory_order_acquire, std::memory_order_relaxed)) continue;
    leave_callers_cpu(moved_ns);
    chunks(worker);
    seen = gate / kNumber;
    gate_.fetch_sub(1, std::memory_order_release);
  }
}

// On a loaded machine the scheduler may keep a worker on the caller's CPU for seconds, where each waits for the other's time
// slice. Forbidding that CPU for a moment moves the worker at once.
void ThreadPool::leave_callers_cpu(int64_t& last_ns) const {
  const int cpu = caller_cpu_.load(std::memory_order_relaxed);
  if (cpu < 0 || sched_getcpu() != cpu || CPU_COUNT(&allowed_) < workers_) return;
  const int64_t now = now_ns();
  if (now - last_ns < kMoveEveryNs) return;
  last_ns = now;
  cpu_set_t others = allowed_;
  CPU_CLR(static_cast<size_t>(cpu), &others);
  if (sched_setaffinity(0, sizeof others, &others) == 0) sched_setaffinity(0, sizeof allowed_, &allowed_);
}

uint64_t ThreadPool::wait_for_loop(uint64_t seen, int64_t& moved_ns) {
  int64_t until = 0;
  for (int turn = 1;; ++turn) {
    const uint64_t gate = gate_.load(std::memory_order_relaxed);
    if (((gate & kOpen) && gate / kNumber != seen) || stop_.load(std::memory_order_relaxed)) return gate;
    pause_cpu();
    if (turn % 64 != 0) continue;
    leave_callers_cpu(moved_ns);
    const int64_t now = now_ns();
    if (until == 0) until = now + spin_ns_;
    if (now < until) continue;
    sleep_until_published(seen);
    until = 0;
  }
}

// The publisher writes the gate and then looks for sleepers; this thread announces itself and then looks at the gate. One of
// the two sees the other. A wake-up between the two loads changes wake_, and the wait returns at once.
void ThreadPool::sleep_until_published(uint64_t seen) {
  sleepers_.fetch_add(1);
  const uint32_t ticket = wake_.load();
  const uint64_t gate = gate_.load();
  if (!((gate & kOpen) && gate / kNumber != seen) && !stop_.load()) futex_wait(wake_, ticket);
  sleepers_.fetch_sub(1);
}

void ThreadPool::chunks(int worker) {
  current_worker = worker;
  for (int i = 0; i < workers_; ++i) {
    const int owner = worker + i < workers_ ? worker + i : worker + i - workers_;
    std::atomic<int64_t>& next = shares_[static_cast<size_t>(owner)].next;
    const int64_t end = part_begin(owner + 1);
    while (next.load(std::memory_order_relaxed) < end) {
      const int64_t begin = next.fetch_add(1, std::memory_order_relaxed);
      if (begin >= end) break;
      body_(arg_, begin * chunk_, std::min(n_, (begin + 1) * chunk_), worker);
    }
  }
  current_worker = -1;
}

void ThreadPool::run(int64_t n, int64_t grain, Body body, void* arg) {
  if (n <= 0) return;
  grain = std::max<int64_t>(1, grain);
  if (current_worker >= 0 || n <= grain || threads_.empty()) {
    body(arg, 0, n, std::max(0, current_worker));
    return;
  }
  const int64_t share = std::max<int64_t>(1, n / (int64_t{workers_} * kChunksPerWorker));
  body_ = body;
  arg_ = arg;
  n_ = n;
  chunk_ = (share + grain - 1) / grain * grain;
  chunk_count_ = (n + chunk_ - 1) / chunk_;
  caller_cpu_.store(sched_getcpu(), std::memory_order_relaxed);
  for (int worker = 0; worker < workers_; ++worker)
    shares_[static_cast<size_t>(worker)].next.store(part_begin(worker), std::memory_order_relaxed);
  const uint64_t number = gate_.load(std::memory_order_relaxed) / kNumber + 1;
  gate_.store(number * kNumber | kOpen);
  if (sleepers_.load() > 0) {
    wake_.fetch_add(1);
    futex_wake(wake_, static_cast<int>(std::min<int64_t>(chunk_count_ - 1, INT_MAX)));
  }
  chunks(0);
  gate_.fetch_and(~kOpen, std::memory_order_acquire);
  for (int turn = 0; (gate_.load(std::memory_order_acquire) & kActive) != 0; ++turn) {
    if (turn < 4096)
      pause_cpu();
    else
      sched_yield();  // the worker we wait for may need this CPU
  }
}

void ThreadPool::parallel_for(const dml_ctx* ctx, int64_t n, int64_t grain, Body body, void* arg) {
  static_cast<ThreadPool*>(ctx->pool)->run(n, grain, body, arg);
}

}  // namespace dinoml::rt
