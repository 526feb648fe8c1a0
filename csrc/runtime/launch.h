// A function made ready for one set of dims: integers evaluated, variants chosen, operand pointers laid out; and its execution.
#pragma once
#include <stdint.h>

#include <vector>

#include "dinoml/dinoml.h"
#include "module_desc.h"

namespace dinoml::rt {

// Where the operands of a launch lie. Inputs and outputs change with every run and are patched in; the rest stays.
struct Memory {
  unsigned char* arena = nullptr;
  unsigned char* scratch = nullptr;
  int64_t* extents = nullptr;
  std::vector<void*> stored, sources, states;
};

struct Launch {
  struct Step {
    const StepDesc* desc;
    const VariantDesc* variant;
    size_t pointer_at, int_at;
    int64_t scratch;  // bytes for all workers
  };
  struct Patch {
    size_t at;
    Operand operand;
  };

  std::vector<int64_t> dims, ints, output_shapes;
  std::vector<int64_t> late_ints;  // ints with the extents that kernels of this run reported
  const ArenaPlan* plan = nullptr;
  std::vector<Step> steps;
  std::vector<void*> pointers;
  std::vector<int64_t> kernel_ints;
  std::vector<Patch> patches;
  int64_t scratch = 0;      // most bytes that one step needs
  uint64_t generation = 0;  // of the Memory that `pointers` refers to

  // Evaluates and chooses; `pointers` are null until `place`. Throws Failure when no arena plan covers the dims.
  Launch(const ModuleDesc& module, const FunctionDesc& function, const std::vector<int64_t>& dims, int workers);

  void place(const Memory& memory, uint64_t generation);
  void patch(const dinoml_tensor* inputs, const dinoml_tensor* outputs);
};

// What an execution does between steps.
struct Watch {
  dinoml_trace_fn trace = nullptr;
  void* user = nullptr;
  int64_t* step_ns = nullptr;
  const unsigned char* arena_guard = nullptr;  // kGuardBytes of kGuardByte that no kernel may touch, or null
  const unsigned char* scratch_guard = nullptr;
};

constexpr int64_t kGuardBytes = 64;
constexpr unsigned char kGuardByte = 0xA5;

// Runs the steps in order. `only`: flags per step, or null for all. Throws Failure that names step, kernel, node and source line.
void execute(const ModuleDesc& module, const FunctionDesc& function, Launch& launch, dml_ctx ctx, const Watch& watch,
             const std::vector<bool>* only = nullptr);

}  // namespace dinoml::rt
