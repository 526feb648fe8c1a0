// Host memory that kernels work in: 64-byte aligned, on huge pages where it is large.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace dinoml::rt {

class Buffer {
 public:
  Buffer() = default;
  ~Buffer() { release(); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  Buffer(Buffer&& other) noexcept : data_(other.data_), bytes_(other.bytes_) {
    other.data_ = nullptr;
    other.bytes_ = 0;
  }

  // Makes room for at least `bytes`; the contents are lost when that moves the buffer. Returns whether it moved. Throws Failure.
  bool reserve(int64_t bytes, const char* what);
  void release() noexcept;

  unsigned char* data() const { return data_; }
  int64_t bytes() const { return bytes_; }

 private:
  unsigned char* data_ = nullptr;
  int64_t bytes_ = 0;
};

}  // namespace dinoml::rt
