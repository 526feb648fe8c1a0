// Memory of fresh outputs. A session keeps what one run needs, so that the next run does not pay for page faults again.
#pragma once
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace dinoml::python {

class OutputPool : public std::enable_shared_from_this<OutputPool> {
 public:
  ~OutputPool() {
    for (const auto& [data, bytes] : kept_) free(data);
  }

  // 64-byte aligned; goes back to the pool, or is freed, with the last owner.
  std::shared_ptr<void> take(int64_t bytes) {
    const size_t size = round(static_cast<size_t>(bytes));
    void* data = pop(size);
    if (!data) data = allocate(size);
    std::shared_ptr<OutputPool> pool = shared_from_this();
    return std::shared_ptr<void>(data, [pool = std::move(pool), size](void* p) { pool->give_back(p, size); });
  }

  // What one run takes: more is not kept.
  void set_limit(int64_t bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (bytes > limit_) limit_ = bytes;
  }

 private:
  static constexpr size_t kHugePage = size_t{2} << 20;

  static size_t round(size_t bytes) {
    const size_t unit = bytes >= kHugePage ? kHugePage : 64;
    return bytes == 0 ? 64 : (bytes + unit - 1) / unit * unit;
  }

  static void* allocate(size_t size) {
    void* const data = aligned_alloc(size >= kHugePage ? kHugePage : 64, size);
    if (!data) throw std::bad_alloc();
    if (size >= kHugePage) madvise(data, size, MADV_HUGEPAGE);
    return data;
  }

  void* pop(size_t size) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (size_t i = kept_.size(); i-- > 0;) {
      if (kept_[i].second != size) continue;
      void* const data = kept_[i].first;
      kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(i));
      kept_bytes_ -= static_cast<int64_t>(size);
      return data;
    }
    return nullptr;
  }

  void give_back(void* data, size_t size) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (kept_bytes_ + static_cast<int64_t>(size) <= limit_) {
        kept_.emplace_back(data, size);
        kept_bytes_ += static_cast<int64_t>(size);
        return;
      }
    }
    free(data);
  }

  std::mutex mutex_;
  std::vector<std::pair<void*, size_t>> kept_;
  int64_t kept_bytes_ = 0, limit_ = 0;
};

}  // namespace dinoml::python
