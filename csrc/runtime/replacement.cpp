// Replacing source constants re-runs the part of the constant program that depends on them.
#include <string.h>

#include <string>
#include <utility>

#include "cpu_count.h"
#include "float_env.h"
#include "launch.h"
#include "module.h"
#include "status.h"
#include "thread_pool.h"

namespace dinoml::rt {

Replacement::Replacement(const ModuleDesc& desc, const Constants& constants, std::vector<const void*> replaced)
    : desc_(desc), constants_(constants), replaced_(std::move(replaced)) {
  for (int32_t s = 0; s < desc_.n_sources; ++s)
    if (replaced_[static_cast<size_t>(s)] && desc_.sources[s].stored >= 0)
      values_.push_back({desc_.sources[s].stored, replaced_[static_cast<size_t>(s)]});
  if (desc_.constant_program) run_program(*desc_.constant_program);
}

// Operands do not say whether a step writes them. A step that reads anything affected counts as writing all its arena buffers
// and stored constants, and an arena buffer counts as made by every step that touched it before. So too much
// may be computed again, with the same result, and never too little.
Replacement::Need Replacement::affected(const FunctionDesc& program) const {
  Need need = {std::vector<bool>(static_cast<size_t>(program.n_steps)), std::vector<bool>(static_cast<size_t>(desc_.n_stored))};
  std::vector<bool> dirty(static_cast<size_t>(program.n_buffers)), wanted(static_cast<size_t>(program.n_buffers));
  const auto touches = [&](int32_t step, auto&& visit) {
    for (int32_t v = 0; v < program.steps[step].n_variants; ++v)
      for (int32_t i = 0; i < program.steps[step].variants[v].n_operands; ++i) {
        const Operand& operand = program.steps[step].variants[v].operands[i];
        visit(operand.kind, static_cast<size_t>(operand.index));
      }
  };
  for (int32_t s = 0; s < program.n_steps; ++s) {
    bool hit = false;
    touches(s, [&](Operand::Kind kind, size_t i) {
      hit = hit || (kind == Operand::source && replaced_[i]) || (kind == Operand::arena && dirty[i]) ||
            (kind == Operand::stored && need.stored[i]);
    });
    need.steps[static_cast<size_t>(s)] = hit;
    if (!hit) continue;
    touches(s, [&](Operand::Kind kind, size_t i) {
      if (kind == Operand::arena) dirty[i] = true;
      if (kind == Operand::stored) need.stored[i] = true;
    });
  }
  // Backwards: what the affected steps read and nobody keeps, which includes stored constants that are not loaded.
  for (int32_t s = program.n_steps - 1; s >= 0; --s) {
    bool needed = need.steps[static_cast<size_t>(s)];
    touches(s, [&](Operand::Kind kind, size_t i) {
      needed = needed || (kind == Operand::arena && wanted[i]) ||
               (kind == Operand::stored && need.stored[i] && !constants_.loaded(static_cast<int32_t>(i)));
    });
    need.steps[static_cast<size_t>(s)] = needed;
    if (!needed) continue;
    touches(s, [&](Operand::Kind kind, size_t i) {
      if (kind == Operand::arena) wanted[i] = true;
      if (kind == Operand::stored) need.stored[i] = true;
    });
  }
  return need;
}

const void* Replacement::source_data(int32_t source) const {
  if (const void* given = replaced_[static_cast<size_t>(source)]) return given;
  const int32_t stored = desc_.sources[source].stored;
  return stored >= 0 && constants_.loaded(stored) ? constants_.data(stored) : nullptr;
}

void Replacement::require_sources(const FunctionDesc& program, const Need& need) const {
  std::string given, missing;
  const auto list = [](std::string& out, const char* name) { out += (out.empty() ? "\"" : ", \"") + std::string(name) + "\""; };
  std::vector<bool> listed(static_cast<size_t>(desc_.n_sources));
  for (int32_t s = 0; s < program.n_steps; ++s) {
    if (!need.steps[static_cast<size_t>(s)]) continue;
    for (int32_t v = 0; v < program.steps[s].n_variants; ++v) {
      for (int32_t i = 0; i < program.steps[s].variants[v].n_operands; ++i) {
        const Operand& operand = program.steps[s].variants[v].operands[i];
        if (operand.kind != Operand::source || listed[static_cast<size_t>(operand.index)]) continue;
        listed[static_cast<size_t>(operand.index)] = true;
        const char* name = desc_.sources[operand.index].tensor.name;
        if (!source_data(operand.index))
          list(missing, name);
        else if (replaced_[static_cast<size_t>(operand.index)])
          list(given, name);
      }
    }
  }
  if (!missing.empty())
    fail(dinoml_constants_missing, "replacing ", given, " also needs ", missing,
         ": they are stored merged or transformed, not as they were. Set all of them in one call");
}

void Replacement::run_program(const FunctionDesc& program) {
  const Need need = affected(program);
  bool any = false;
  for (const bool step : need.steps) any = any || step;
  if (!any) return;
  require_sources(program, need);

  std::vector<int64_t> dims;
  for (int32_t i = 0; i < desc_.n_dims; ++i) dims.push_back(desc_.dims[i].min);
  ThreadPool pool(usable_cores());
  Launch launch(desc_, program, dims, pool.workers());
  Buffer arena, scratch;
  arena.reserve(launch.plan ? launch.plan->bytes : 0, "constant program's arena");
  scratch.reserve(launch.scratch, "constant program's scratch");
  std::vector<int64_t> extents(static_cast<size_t>(program.n_extents));
  Memory memory = {arena.data(), scratch.data(), extents.data(), {}, {}, {}};
  results_.resize(static_cast<size_t>(desc_.n_stored));
  for (int32_t i = 0; i < desc_.n_stored; ++i) {
    const TensorDesc& tensor = desc_.stored[i].tensor;
    Buffer& result = results_[static_cast<size_t>(i)];
    memory.stored.push_back(constants_.data(i));
    if (!need.stored[static_cast<size_t>(i)]) continue;
    result.reserve(tensor.nbytes, "constant program's results");
    if (constants_.loaded(i) && tensor.nbytes > 0) memcpy(result.data(), constants_.data(i), static_cast<size_t>(tensor.nbytes));
    memory.stored.back() = result.data();
    values_.push_back({i, result.data()});
  }
  for (int32_t i = 0; i < desc_.n_sources; ++i) memory.sources.push_back(const_cast<void*>(source_data(i)));
  launch.place(memory, 1);
  uint32_t error = 0;
  const dml_ctx ctx = {ThreadPool::parallel_for, pool.workers(), memory.scratch, &error, nullptr, &pool};
  const DefaultFloatEnvironment environment;
  pool.enter();
  execute(desc_, program, launch, ctx, Watch{}, &need.steps);
}

}  // namespace dinoml::rt
