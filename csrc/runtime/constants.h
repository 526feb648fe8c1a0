// The stored constants of a module: pages of constants.safetensors, mapped copy-on-write and read-only until one is replaced.
#pragma once
#include <stdint.h>

#include <string>
#include <vector>

#include "memory.h"
#include "module_desc.h"

namespace dinoml::rt {

class Constants {
 public:
  struct Value {
    int32_t stored;
    const void* data;
  };

  Constants(const ModuleDesc& desc, std::string path);
  ~Constants();
  Constants(const Constants&) = delete;
  Constants& operator=(const Constants&) = delete;

  // Maps the file and takes every value from it; a stored constant that the file lacks stays unset. Throws Failure, then unchanged.
  void load();
  void unload() noexcept;
  // Replaces values. Allocates and unprotects all of them first, so that it changes all or none.
  void write(const std::vector<Value>& values);

  bool loaded(int32_t stored) const { return slots_[static_cast<size_t>(stored)].loaded; }
  void* data(int32_t stored) const { return slots_[static_cast<size_t>(stored)].data; }
  // The name of a stored constant without a value, or null.
  const char* first_unset() const;
  // Changes whenever an address changes.
  uint64_t generation() const { return generation_; }

 private:
  struct Slot {
    unsigned char* data = nullptr;
    bool loaded = false;
    bool mapped = false;
    Buffer own;
  };

  void take_from(unsigned char* base, const std::vector<int64_t>& offsets);

  const ModuleDesc& desc_;
  const std::string path_;
  std::vector<Slot> slots_;
  void* map_ = nullptr;
  size_t map_bytes_ = 0;
  uint64_t generation_ = 1;
};

}  // namespace dinoml::rt
