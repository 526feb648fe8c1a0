#include "memory.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "status.h"

namespace dinoml::rt {
namespace {
constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kCacheLine = 64;
}  // namespace

bool Buffer::reserve(int64_t bytes, const char* what) {
  if (bytes <= bytes_) return false;
  release();
  const size_t alignment = static_cast<size_t>(bytes) >= kHugePage ? kHugePage : kCacheLine;
  const size_t rounded = (static_cast<size_t>(bytes) + alignment - 1) / alignment * alignment;
  data_ = static_cast<unsigned char*>(aligned_alloc(alignment, rounded));
  if (!data_) fail(dinoml_out_of_memory, "no memory for the ", what, " (", bytes, " bytes)");
  if (alignment == kHugePage) madvise(data_, rounded, MADV_HUGEPAGE);
  bytes_ = static_cast<int64_t>(rounded);
  return true;
}

void Buffer::release() noexcept {
  free(data_);
  data_ = nullptr;
  bytes_ = 0;
}

}  // namespace dinoml::rt
