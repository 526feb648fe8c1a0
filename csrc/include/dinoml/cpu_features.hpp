// What this CPU and operating system can run, by the names that gcc's -m options use.
#pragma once
#include <stdint.h>

#include <string>
#include <string_view>
#include <vector>

namespace dinoml {

#if defined(__x86_64__)
namespace detail {
struct CpuidRegisters {
  uint32_t r[4] = {0, 0, 0, 0};  // eax, ebx, ecx, edx
};

inline CpuidRegisters cpuid(uint32_t leaf, uint32_t sub) {
  CpuidRegisters out;
  __asm__("cpuid" : "=a"(out.r[0]), "=b"(out.r[1]), "=c"(out.r[2]), "=d"(out.r[3]) : "a"(leaf), "c"(sub));
  return out;
}

struct CpuFeatureBit {
  const char* name;
  uint32_t leaf, sub;
  int reg, bit;
  uint64_t state;  // XCR0 bits that the operating system must have enabled
};

// Bits as in Intel's SDM volume 2, CPUID.
inline constexpr uint64_t kAvxState = 0x6, kAvx512State = 0xE6, kAmxState = 0x60000;
inline constexpr CpuFeatureBit kCpuFeatures[] = {
    {"sse3", 1, 0, 2, 0, 0},
    {"ssse3", 1, 0, 2, 9, 0},
    {"sse4.1", 1, 0, 2, 19, 0},
    {"sse4.2", 1, 0, 2, 20, 0},
    {"movbe", 1, 0, 2, 22, 0},
    {"popcnt", 1, 0, 2, 23, 0},
    {"avx", 1, 0, 2, 28, kAvxState},
    {"f16c", 1, 0, 2, 29, kAvxState},
    {"fma", 1, 0, 2, 12, kAvxState},
    {"bmi", 7, 0, 1, 3, 0},
    {"avx2", 7, 0, 1, 5, kAvxState},
    {"bmi2", 7, 0, 1, 8, 0},
    {"lzcnt", 0x80000001u, 0, 2, 5, 0},
    {"avx512f", 7, 0, 1, 16, kAvx512State},
    {"avx512dq", 7, 0, 1, 17, kAvx512State},
    {"avx512ifma", 7, 0, 1, 21, kAvx512State},
    {"avx512cd", 7, 0, 1, 28, kAvx512State},
    {"avx512bw", 7, 0, 1, 30, kAvx512State},
    {"avx512vl", 7, 0, 1, 31, kAvx512State},
    {"avx512vbmi", 7, 0, 2, 1, kAvx512State},
    {"avx512vbmi2", 7, 0, 2, 6, kAvx512State},
    {"avx512vnni", 7, 0, 2, 11, kAvx512State},
    {"avx512bitalg", 7, 0, 2, 12, kAvx512State},
    {"avx512vpopcntdq", 7, 0, 2, 14, kAvx512State},
    {"avx512fp16", 7, 0, 3, 23, kAvx512State},
    {"avx512bf16", 7, 1, 0, 5, kAvx512State},
    {"avxvnni", 7, 1, 0, 4, kAvxState},
    {"gfni", 7, 0, 2, 8, 0},
    {"amx-bf16", 7, 0, 3, 22, kAmxState},
    {"amx-tile", 7, 0, 3, 24, kAmxState},
    {"amx-int8", 7, 0, 3, 25, kAmxState},
};

inline uint64_t enabled_state() {
  if ((cpuid(1, 0).r[2] >> 27 & 1) == 0) return 0;  // no OSXSAVE
  uint32_t low = 0, high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t{high} << 32 | low;
}

inline bool has(const CpuFeatureBit& feature, uint64_t state) {
  const uint32_t last = cpuid(feature.leaf & 0x80000000u, 0).r[0];
  if (last < feature.leaf || (state & feature.state) != feature.state) return false;
  if (feature.sub > 0 && cpuid(feature.leaf, 0).r[0] < feature.sub) return false;
  return (cpuid(feature.leaf, feature.sub).r[feature.reg] >> feature.bit & 1) != 0;
}
}  // namespace detail

inline std::vector<std::string> cpu_features() {
  const uint64_t state = detail::enabled_state();
  std::vector<std::string> found;
  for (const detail::CpuFeatureBit& feature : detail::kCpuFeatures)
    if (detail::has(feature, state)) found.push_back(feature.name);
  return found;
}
#else
inline std::vector<std::string> cpu_features() { return {}; }
#endif

// The wanted features that are not there; a name that this version does not know counts as missing.
inline std::vector<std::string> missing_cpu_features(const std::vector<std::string>& wanted) {
  const std::vector<std::string> found = cpu_features();
  std::vector<std::string> missing;
  for (const std::string& name : wanted) {
    bool there = false;
    for (const std::string& f : found) there = there || f == name;
    if (!there) missing.push_back(name);
  }
  return missing;
}

}  // namespace dinoml
