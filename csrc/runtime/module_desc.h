// What generated code tells the runtime about a module: tables of plain data, one FunctionDesc per function, no behaviour but
// the evaluation of integers. The runtime (csrc/runtime) is the only reader; dinoml/codegen the only writer.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "dinoml/kernel.h"

namespace dinoml {

// A named dimension of the module. Bound by the first input axis that is exactly this dim.
struct DimDesc {
  const char* name;
  int64_t min, max, divisible_by;
};

// One axis of a tensor: exactly one of the three kinds.
struct AxisDesc {
  enum Kind : int32_t { fixed = 0, dim = 1, computed = 2, extent = 3 } kind;
  // fixed: the extent. dim: index into ModuleDesc::dims (binds it, or must equal it). computed: index into the function's ints
  // (checked on inputs, allocates on outputs). extent: an output axis whose length is known only after the run; `value` is the
  // index of the capacity in ints and `extent_slot` the function's extent slot that holds the length, or -1: `late` computes it.
  int64_t value;
  int32_t extent_slot;
};

struct TensorDesc {
  const char* name;
  int32_t dtype;  // dinoml_dtype
  int32_t ndim;
  const AxisDesc* axes;
  int32_t bytes;  // index into ints: bytes of the (maximal) tensor; -1 in module-wide tables, where nbytes is fixed
  int64_t nbytes;
};

// A stored constant lies in constants.safetensors under `name`. Sources that are stored unchanged are stored constants of the same name.
struct StoredConstantDesc {
  TensorDesc tensor;
};

// A source constant, as the model's author named it. `stored` is the stored constant that holds it unchanged, or -1 when only
// the constant program's results are stored.
struct SourceConstantDesc {
  TensorDesc tensor;
  int32_t stored;
};

// A state: one session-owned buffer that functions read and write. Zero-filled at session creation.
struct StateDesc {
  TensorDesc tensor;  // fixed shape: the maximum over the dims
};

struct Operand {
  enum Kind : int32_t { null = 0, input, output, arena, stored, source, state, extent } kind;
  int32_t index;  // input/output: position; arena: buffer; stored/source/state: module index; extent: address of int64 slot `index`
};

// Alternatives of one step, tried in order; the last has condition -1. condition: index into ints, applies when non-zero.
struct VariantDesc {
  int32_t condition;
  dml_kernel_fn fn;
  int32_t kernel;   // index into ModuleDesc::kernel_names
  int32_t scratch;  // index into ints of the scratch bytes for *one* worker, or -1; the context gets workers * that
  const int32_t* ints;  // the kernel's run-time integers: indices into ints
  int32_t n_ints;
  const Operand* operands;
  int32_t n_operands;
  int64_t (*scratch_bytes)(const int64_t* n, int workers);  // of all workers, from the kernel's integers; replaces `scratch` when not null
};

struct StepDesc {
  const char* node;    // ids of the graph nodes it covers, joined by "+"
  const char* source;  // "file:line" in the model, or ""
  const VariantDesc* variants;
  int32_t n_variants;
};

// Arena offsets that hold for all dims <= upper (elementwise, in ModuleDesc::dims order). The first plan that fits is used.
struct ArenaPlan {
  const int64_t* upper;
  const int64_t* offsets;  // one per arena buffer, 64-byte aligned
  int64_t bytes;
};

struct BufferDesc {
  const char* value;  // the graph value it holds, for debugging
  int32_t bytes;      // index into ints
  int32_t dtype;
};

struct FunctionDesc {
  const char* name;
  const TensorDesc* inputs;
  int32_t n_inputs;
  const TensorDesc* outputs;
  int32_t n_outputs;
  int32_t n_ints;
  void (*eval)(const int64_t* dims, int64_t* ints);  // fills all ints of this function
  const BufferDesc* buffers;
  int32_t n_buffers;
  const ArenaPlan* plans;
  int32_t n_plans;
  const StepDesc* steps;
  int32_t n_steps;
  int32_t n_extents;  // run-time extent slots (int64), zeroed before each run
  // Replaces the capacities in ints by what the extents that are known so far make of them; null without extents.
  void (*late)(const int64_t* dims, const int64_t* extents, int64_t* ints);
};

struct ModuleDesc {
  uint32_t descriptor_version;  // 1
  const char* name;
  const char* target;    // "cpu"
  const char* features;  // comma-separated CPU features the kernels need, e.g. "avx512f,avx512bw"
  const char* digest;    // content digest of graph + plan + sources; equals manifest.json's "module_digest"
  const DimDesc* dims;
  int32_t n_dims;
  const StoredConstantDesc* stored;
  int32_t n_stored;
  const SourceConstantDesc* sources;
  int32_t n_sources;
  const StateDesc* states;
  int32_t n_states;
  const char* const* kernel_names;
  int32_t n_kernels;
  const FunctionDesc* functions;
  int32_t n_functions;
  // Makes stored constants from source constants: inputs are Operand::source, results Operand::stored. Re-run for what depends on a replaced source. Null when nothing is transformed.
  const FunctionDesc* constant_program;
};

}  // namespace dinoml

extern "C" const dinoml::ModuleDesc dinoml_module_desc;
