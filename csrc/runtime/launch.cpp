#include "launch.h"

#include <time.h>

#include <algorithm>
#include <string>

#include "binding.h"
#include "status.h"

namespace dinoml::rt {
namespace {

int64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t{t.tv_sec} * 1000000000 + t.tv_nsec;
}

const ArenaPlan* find_plan(const ModuleDesc& module, const FunctionDesc& function, const std::vector<int64_t>& dims) {
  for (int32_t p = 0; p < function.n_plans; ++p) {
    bool fits = true;
    for (int32_t i = 0; fits && i < module.n_dims; ++i) fits = dims[static_cast<size_t>(i)] <= function.plans[p].upper[i];
    if (fits) return &function.plans[p];
  }
  if (function.n_buffers == 0) return nullptr;
  fail(dinoml_internal, "function \"", function.name, "\": no memory plan covers these dims");
}

const VariantDesc* find_variant(const StepDesc& step, const std::vector<int64_t>& ints) {
  for (int32_t i = 0; i < step.n_variants; ++i) {
    const VariantDesc& variant = step.variants[i];
    if (variant.condition < 0 || ints[static_cast<size_t>(variant.condition)] != 0) return &variant;
  }
  fail(dinoml_internal, "step \"", step.node, "\": no variant applies");
}

void* locate(const Launch& launch, const Memory& memory, const Operand& operand) {
  const size_t index = static_cast<size_t>(operand.index);
  switch (operand.kind) {
    case Operand::arena: return memory.arena + launch.plan->offsets[index];
    case Operand::stored: return memory.stored[index];
    case Operand::source: return memory.sources[index];
    case Operand::state: return memory.states[index];
    case Operand::extent: return memory.extents + index;
    default: return nullptr;
  }
}

std::string describe(const ModuleDesc& module, const Launch::Step& step, int64_t number) {
  std::string out = join("step ", number, " (kernel ", module.kernel_names[step.variant->kernel], ", node ", step.desc->node);
  if (step.desc->source[0]) out += join(", ", step.desc->source);
  return out + ")";
}

dinoml_operand_view view(const ModuleDesc& module, const FunctionDesc& function, const Launch& launch, const Operand& operand, void* data) {
  dinoml_operand_view out = {"", data, 0, operand.kind, operand.index, 0};
  const TensorDesc* tensor = nullptr;
  switch (operand.kind) {
    case Operand::input: tensor = &function.inputs[operand.index]; break;
    case Operand::output: tensor = &function.outputs[operand.index]; break;
    case Operand::stored: tensor = &module.stored[operand.index].tensor; break;
    case Operand::source: tensor = &module.sources[operand.index].tensor; break;
    case Operand::state: tensor = &module.states[operand.index].tensor; break;
    case Operand::arena: {
      const BufferDesc& buffer = function.buffers[operand.index];
      out.name = buffer.value;
      out.bytes = launch.ints[static_cast<size_t>(buffer.bytes)];
      out.dtype = buffer.dtype;
      break;
    }
    case Operand::extent:
      out.name = "extent";
      out.bytes = 8;
      out.dtype = dinoml_int64;
      break;
    case Operand::null: break;
  }
  if (tensor) {
    out.name = tensor->name;
    out.dtype = tensor->dtype;
    out.bytes = tensor->bytes >= 0 ? launch.ints[static_cast<size_t>(tensor->bytes)] : tensor->nbytes;
  }
  return out;
}

const char* kind_name(int32_t kind) {
  static const char* const names[] = {"null", "input", "output", "value", "constant", "constant", "state", "extent"};
  return names[kind];
}

[[noreturn]] void fail_with_word(const ModuleDesc& module, const FunctionDesc& function, const Launch& launch, const Launch::Step& step,
                                 int64_t number, uint32_t word) {
  const uint32_t code = word >> 24, operand = word & 0xFFFFFF;
  const std::string where = describe(module, step, number);
  if (code != dml_error_index) fail(dinoml_kernel_failed, where, " reported error ", static_cast<int64_t>(code));
  if (operand >= static_cast<uint32_t>(step.variant->n_operands)) fail(dinoml_index_error, where, ": a run-time index is out of range");
  const dinoml_operand_view found = view(module, function, launch, step.variant->operands[operand], nullptr);
  fail(dinoml_index_error, where, ": an index in ", kind_name(found.kind), " \"", found.name, "\" (operand ", static_cast<int64_t>(operand),
       ") is out of range. The outputs of this run are not valid");
}

void check_guard(const unsigned char* guard, const char* what, const ModuleDesc& module, const Launch::Step& step, int64_t number) {
  for (int64_t i = 0; guard && i < kGuardBytes; ++i)
    if (guard[i] != kGuardByte) fail(dinoml_kernel_failed, describe(module, step, number), " wrote past the end of the ", what);
}

void trace(const ModuleDesc& module, const FunctionDesc& function, const Launch& launch, const Launch::Step& step, int32_t number,
           const Watch& watch) {
  std::vector<dinoml_operand_view> operands;
  for (int32_t i = 0; i < step.variant->n_operands; ++i)
    operands.push_back(
        view(module, function, launch, step.variant->operands[i], launch.pointers[step.pointer_at + static_cast<size_t>(i)]));
  const dinoml_trace_event event = {function.name,   module.kernel_names[step.variant->kernel],
                                    step.desc->node, step.desc->source,
                                    operands.data(), step.variant->n_operands,
                                    number};
  if (watch.trace(watch.user, &event) != 0)
    fail(dinoml_aborted, "the trace callback stopped the run after ", describe(module, step, number));
}

// Buffers are made for capacities; kernels after the one that reports an extent work on what there is.
void learn_extents(const FunctionDesc& function, Launch& launch, size_t done) {
  if (!function.late) return;
  const Launch::Step& step = launch.steps[done];
  const int64_t* extents = nullptr;
  for (int32_t i = 0; i < step.variant->n_operands; ++i) {
    const Operand& operand = step.variant->operands[i];
    const void* at = launch.pointers[step.pointer_at + static_cast<size_t>(i)];
    if (operand.kind == Operand::extent) extents = static_cast<const int64_t*>(at) - operand.index;
  }
  if (!extents) return;
  launch.late_ints = launch.ints;
  function.late(launch.dims.data(), extents, launch.late_ints.data());
  for (size_t s = done + 1; s < launch.steps.size(); ++s) {
    const VariantDesc& variant = *launch.steps[s].variant;
    for (int32_t i = 0; i < variant.n_ints; ++i)
      launch.kernel_ints[launch.steps[s].int_at + static_cast<size_t>(i)] = launch.late_ints[static_cast<size_t>(variant.ints[i])];
  }
}

}  // namespace

Launch::Launch(const ModuleDesc& module, const FunctionDesc& function, const std::vector<int64_t>& dims_of_run, int workers)
    : dims(dims_of_run) {
  ints.resize(static_cast<size_t>(function.n_ints));
  if (function.eval) function.eval(dims.data(), ints.data());
  plan = find_plan(module, function, dims);
  for (int32_t o = 0; o < function.n_outputs; ++o) {
    for (int32_t a = 0; a < function.outputs[o].ndim; ++a) {
      const AxisDesc& axis = function.outputs[o].axes[a];
      output_shapes.push_back(axis.kind == AxisDesc::fixed ? axis.value
                              : axis.kind == AxisDesc::dim ? dims[static_cast<size_t>(axis.value)]
                                                           : ints[static_cast<size_t>(axis.value)]);
    }
  }
  steps.reserve(static_cast<size_t>(function.n_steps));
  for (int32_t s = 0; s < function.n_steps; ++s) {
    const VariantDesc* variant = find_variant(function.steps[s], ints);
    int64_t bytes = variant->scratch < 0 ? 0 : ints[static_cast<size_t>(variant->scratch)] * workers;
    const size_t ints_at = kernel_ints.size();
    for (int32_t i = 0; i < variant->n_ints; ++i) kernel_ints.push_back(ints[static_cast<size_t>(variant->ints[i])]);
    if (variant->scratch_bytes) bytes = variant->scratch_bytes(kernel_ints.data() + ints_at, workers);
    steps.push_back({&function.steps[s], variant, pointers.size(), ints_at, bytes});
    scratch = std::max(scratch, bytes);
    for (int32_t i = 0; i < variant->n_operands; ++i) {
      const Operand& operand = variant->operands[i];
      if (operand.kind == Operand::input || operand.kind == Operand::output) patches.push_back({pointers.size(), operand});
      pointers.push_back(nullptr);
    }
  }
}

void Launch::place(const Memory& memory, uint64_t generation_now) {
  for (const Step& step : steps)
    for (int32_t i = 0; i < step.variant->n_operands; ++i)
      pointers[step.pointer_at + static_cast<size_t>(i)] = locate(*this, memory, step.variant->operands[i]);
  generation = generation_now;
}

void Launch::patch(const dinoml_tensor* inputs, const dinoml_tensor* outputs) {
  for (const Patch& p : patches) {
    const dinoml_tensor* from = p.operand.kind == Operand::input ? inputs : outputs;
    pointers[p.at] = address(from[p.operand.index]);
  }
}

void execute(const ModuleDesc& module, const FunctionDesc& function, Launch& launch, dml_ctx ctx, const Watch& watch,
             const std::vector<bool>* only) {
  int64_t before = watch.step_ns ? now_ns() : 0;
  for (size_t i = 0; i < launch.steps.size(); ++i) {
    if (only && !(*only)[i]) continue;
    const Launch::Step& step = launch.steps[i];
    const int64_t number = static_cast<int64_t>(i);
    const int status = step.variant->fn(&ctx, launch.pointers.data() + step.pointer_at, launch.kernel_ints.data() + step.int_at);
    if (status != 0)
      fail(dinoml_kernel_failed, describe(module, step, number), " failed with launch status ", static_cast<int64_t>(status));
    if (*ctx.error != 0) fail_with_word(module, function, launch, step, number, *ctx.error);
    learn_extents(function, launch, i);
    check_guard(watch.arena_guard, "arena", module, step, number);
    check_guard(watch.scratch_guard, "scratch memory", module, step, number);
    if (watch.trace) trace(module, function, launch, step, static_cast<int32_t>(i), watch);
    if (watch.step_ns) {
      const int64_t now = now_ns();
      watch.step_ns[i] = now - before;
      before = now;
    }
  }
}

}  // namespace dinoml::rt
