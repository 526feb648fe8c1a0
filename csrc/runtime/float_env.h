// Kernels run with round-to-nearest, subnormals kept and exceptions masked, whatever the host has set.
#pragma once
#include <stdint.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace dinoml::rt {

class DefaultFloatEnvironment {
 public:
#if defined(__x86_64__)
  DefaultFloatEnvironment() : before_(_mm_getcsr()) {
    if (before_ != kDefault) _mm_setcsr(kDefault);
  }
  ~DefaultFloatEnvironment() { _mm_setcsr(before_); }

 private:
  static constexpr uint32_t kDefault = 0x1F80;
  const uint32_t before_;
#else
  DefaultFloatEnvironment() {}
  ~DefaultFloatEnvironment() {}
#endif
};

}  // namespace dinoml::rt
