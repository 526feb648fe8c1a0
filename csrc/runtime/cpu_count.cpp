#include "cpu_count.h"

#include <sched.h>
#include <stdio.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>

namespace dinoml::rt {
namespace {

std::string first_line(const std::string& path) {
  std::string line;
  if (FILE* file = fopen(path.c_str(), "re")) {
    char text[256] = "";
    if (fgets(text, sizeof text, file)) line = text;
    fclose(file);
  }
  return line;
}

// CPUs' worth of time per period, or 0 for no limit. Version 2 says "quota period", version 1 has a file for each.
int quota_cpus() {
  long long quota = 0, period = 0;
  if (sscanf(first_line("/sys/fs/cgroup/cpu.max").c_str(), "%lld %lld", &quota, &period) != 2 &&
      (sscanf(first_line("/sys/fs/cgroup/cpu/cpu.cfs_quota_us").c_str(), "%lld", &quota) != 1 ||
       sscanf(first_line("/sys/fs/cgroup/cpu/cpu.cfs_period_us").c_str(), "%lld", &period) != 1))
    return 0;
  return quota > 0 && period > 0 ? static_cast<int>((quota + period - 1) / period) : 0;
}

}  // namespace

int logical_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  std::set<std::string> cores;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &set)) continue;
    const std::string number = std::to_string(cpu);
    const std::string siblings = first_line("/sys/devices/system/cpu/cpu" + number + "/topology/thread_siblings_list");
    cores.insert(siblings.empty() ? number : siblings);
  }
  int count = std::max<int>(1, static_cast<int>(cores.size()));
  if (const int quota = quota_cpus(); quota > 0) count = std::min(count, quota);
  return count;
}

}  // namespace dinoml::rt
