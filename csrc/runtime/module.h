// A module: the compiled descriptor with its constants. Shared by sessions; runs hold its lock shared, changes of constants
// hold it alone and go first, so that a stream of runs cannot keep them waiting.
#pragma once
#include <pthread.h>
#include <stdint.h>
#include <sys/types.h>

#include <atomic>
#include <string>
#include <vector>

#include "constants.h"
#include "dinoml/dinoml.h"
#include "module_desc.h"

namespace dinoml::rt {

class Module {
 public:
  Module(const ModuleDesc& desc, const std::string& directory, bool deferred_constants);

  const ModuleDesc& desc;
  Constants constants;
  std::atomic<int32_t> sessions{0};

  const FunctionDesc& function(int32_t index) const;
  dinoml_tensor_info tensor_info(int32_t role, int32_t function, int32_t index) const;

  void load_constants();
  void unload_constants();
  bool constant_loaded(int32_t source) const;
  void set_constants(const char* const* names, const dinoml_tensor* values, int32_t count);

  // Held during a run. A run inside a run of the same module, from a trace callback, rides on the outer one's lock: it would
  // wait for a writer that waits for the outer run.
  class Reading {
   public:
    explicit Reading(Module& module);
    ~Reading();
    static bool held_by_this_thread(const Module& module);

   private:
    Module& module_;
    const Reading* const outer_;
    const bool locks_;
  };

 private:
  class Writing;

  const std::vector<dinoml_axis>& axes(const TensorDesc& tensor);
  void renew_lock_after_fork();

  pthread_rwlock_t lock_;
  std::atomic<pid_t> lock_pid_;
  // The axes in the ABI's form: inputs and outputs of each function, then sources, stored constants, states.
  std::vector<std::vector<dinoml_axis>> axes_;
  std::vector<const TensorDesc*> tensors_;
};

// Computes the stored constants that depend on replaced sources. `replaced[s]` is the new data of source s, or null.
// Throws Failure when a result needs a source that is neither given nor stored unchanged. Changes nothing itself.
class Replacement {
 public:
  Replacement(const ModuleDesc& desc, const Constants& constants, std::vector<const void*> replaced);

  const std::vector<Constants::Value>& values() const { return values_; }

 private:
  struct Need {
    std::vector<bool> steps, stored;
  };

  void run_program(const FunctionDesc& program);
  Need affected(const FunctionDesc& program) const;
  void require_sources(const FunctionDesc& program, const Need& need) const;
  const void* source_data(int32_t source) const;

  const ModuleDesc& desc_;
  const Constants& constants_;
  const std::vector<const void*> replaced_;
  std::vector<Buffer> results_;
  std::vector<Constants::Value> values_;
};

}  // namespace dinoml::rt
