#include "session.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "binding.h"
#include "cpu_count.h"
#include "float_env.h"
#include "status.h"

namespace dinoml::rt {
namespace {

int64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t{t.tv_sec} * 1000000000 + t.tv_nsec;
}

}  // namespace

Session::Use::Use(Session& session) : session_(session) {
  const pid_t me = getpid();
  pid_t before = 0;
  if (session_.user_.compare_exchange_strong(before, me, std::memory_order_acquire)) return;
  if (before != me && session_.user_.compare_exchange_strong(before, me, std::memory_order_acquire)) return;
  fail(dinoml_busy, "the session is in use by another call. A session serves one thread at a time: create one session per thread");
}

Session::Use::~Use() { session_.user_.store(0, std::memory_order_release); }

Session::Session(Module& module, int threads, bool debug)
    : module_(module),
      pool_(threads > 0 ? threads : usable_cores()),
      debug_(debug),
      functions_(static_cast<size_t>(module.desc.n_functions)) {
  int32_t extents = 0;
  for (int32_t f = 0; f < module_.desc.n_functions; ++f) extents = std::max(extents, module_.desc.functions[f].n_extents);
  extents_.resize(static_cast<size_t>(extents));
  memory_.extents = extents_.data();
  states_.resize(static_cast<size_t>(module_.desc.n_states));
  for (int32_t i = 0; i < module_.desc.n_states; ++i) {
    Buffer& state = states_[static_cast<size_t>(i)];
    state.reserve(std::max<int64_t>(1, module_.desc.states[i].tensor.nbytes), "states");
    memset(state.data(), 0, static_cast<size_t>(state.bytes()));
    memory_.states.push_back(state.data());
  }
  module_.sessions.fetch_add(1);
}

Session::~Session() { module_.sessions.fetch_sub(1); }

dinoml_session_info Session::info() {
  const Use use(*this);
  int64_t state_bytes = 0;
  for (const Buffer& state : states_) state_bytes += state.bytes();
  return {pool_.workers(), debug_ ? 1 : 0, arena_.bytes(), scratch_.bytes(), state_bytes};
}

void Session::trim() {
  const Use use(*this);
  arena_.release();
  scratch_.release();
  ++generation_;
}

void Session::set_trace(dinoml_trace_fn callback, void* user) {
  const Use use(*this);
  trace_ = callback;
  trace_user_ = user;
}

Launch& Session::prepare(int32_t function, const std::vector<int64_t>& dims) {
  std::vector<std::unique_ptr<Launch>>& launches = functions_[static_cast<size_t>(function)].launches;
  for (size_t i = launches.size(); i-- > 0;)
    if (launches[i]->dims == dims) return *launches[i];
  auto made = std::make_unique<Launch>(module_.desc, module_.function(function), dims, pool_.workers());
  if (launches.size() == kLaunchesKept) launches.erase(launches.begin());
  launches.push_back(std::move(made));
  return *launches.back();
}

// Makes room and lays out the pointers when something moved since this launch was last placed.
void Session::place(Launch& launch) {
  if (constants_generation_ != module_.constants.generation()) {
    memory_.stored.clear();
    memory_.sources.clear();
    for (int32_t i = 0; i < module_.desc.n_stored; ++i) memory_.stored.push_back(module_.constants.data(i));
    for (int32_t i = 0; i < module_.desc.n_sources; ++i) {
      const int32_t stored = module_.desc.sources[i].stored;
      memory_.sources.push_back(stored >= 0 ? module_.constants.data(stored) : nullptr);
    }
    constants_generation_ = module_.constants.generation();
    ++generation_;
  }
  const int64_t guard = debug_ ? kGuardBytes : 0;
  const int64_t arena_bytes = launch.plan ? launch.plan->bytes : 0, scratch_bytes = launch.scratch;
  if (arena_bytes + guard > 0 && arena_.reserve(arena_bytes + guard, "arena")) ++generation_;
  if (scratch_bytes + guard > 0 && scratch_.reserve(scratch_bytes + guard, "scratch")) ++generation_;
  memory_.arena = arena_.data();
  memory_.scratch = scratch_.data();
  if (launch.generation != generation_) launch.place(memory_, generation_);
}

Launch& Session::checked(const Call& call) {
  const FunctionDesc& function = module_.function(call.function);
  bind_dims(module_.desc, function, call.inputs, call.n_inputs, dims_);
  Launch& launch = prepare(call.function, dims_);
  check_computed_inputs(module_.desc, function, call.inputs, launch.ints.data());
  return launch;
}

void Session::infer_shapes(int32_t function, const dinoml_tensor* inputs, int32_t n_inputs, int64_t* shapes, int32_t count) {
  const Use use(*this);
  copy_shapes(checked({function, inputs, n_inputs, nullptr, 0}).output_shapes, shapes, count);
}

void Session::output_shapes(int32_t function, int64_t* shapes, int32_t count) {
  const Use use(*this);
  const FunctionDesc& desc = module_.function(function);
  const FunctionState& state = functions_[static_cast<size_t>(function)];
  if (state.last_shapes.empty() && count > 0) fail(dinoml_bad_argument, "function \"", desc.name, "\" has not run yet");
  copy_shapes(state.last_shapes, shapes, count);
}

void Session::copy_shapes(const std::vector<int64_t>& from, int64_t* shapes, int32_t count) const {
  if (static_cast<size_t>(count) != from.size())
    fail(dinoml_bad_argument, "the outputs have ", static_cast<int64_t>(from.size()), " axes in all, got room for ", count);
  std::copy(from.begin(), from.end(), shapes);
}

void Session::start(const Call& call, Launch& launch, int64_t* step_ns) {
  const FunctionDesc& function = module_.function(call.function);
  const int64_t arena_bytes = launch.plan ? launch.plan->bytes : 0, scratch_bytes = launch.scratch;
  Watch watch = {trace_, trace_user_, step_ns, nullptr, nullptr};
  if (debug_) {
    memset(arena_.data(), 0xFF, static_cast<size_t>(arena_bytes));  // NaN in every float format: a missing write shows
    memset(scratch_.data(), 0xFF, static_cast<size_t>(scratch_bytes));
    memset(arena_.data() + arena_bytes, kGuardByte, kGuardBytes);
    memset(scratch_.data() + scratch_bytes, kGuardByte, kGuardBytes);
    watch.arena_guard = arena_.data() + arena_bytes;
    watch.scratch_guard = scratch_.data() + scratch_bytes;
  }
  launch.patch(call.inputs, call.outputs);
  std::fill(extents_.begin(), extents_.end(), 0);
  error_ = 0;
  const dml_ctx ctx = {ThreadPool::parallel_for, pool_.workers(), scratch_.data(), &error_, nullptr, &pool_};
  execute(module_.desc, function, launch, ctx, watch);
}

void Session::remember_shapes(const FunctionDesc& function, FunctionState& state, const Launch& launch) {
  state.last_shapes = launch.output_shapes;
  size_t at = 0;
  for (int32_t o = 0; o < function.n_outputs; ++o) {
    for (int32_t a = 0; a < function.outputs[o].ndim; ++a, ++at) {
      const AxisDesc& axis = function.outputs[o].axes[a];
      if (axis.kind != AxisDesc::extent) continue;
      const int64_t extent = axis.extent_slot < 0 ? launch.late_ints[static_cast<size_t>(axis.value)] : extents_[static_cast<size_t>(axis.extent_slot)];
      const int64_t capacity = launch.output_shapes[at];
      if (extent < 0 || extent > capacity)
        fail(dinoml_kernel_failed, "output \"", function.outputs[o].name, "\": axis ", a, " came out as ", extent, ", outside 0..",
             capacity);
      state.last_shapes[at] = extent;
    }
  }
}

void Session::run(const Call& call) { benchmark(call, 0, 1, nullptr, nullptr); }

void Session::benchmark(const Call& call, int32_t warmup, int32_t iterations, int64_t* run_ns, int64_t* step_ns) {
  const Use use(*this);
  if (warmup < 0 || iterations < 0) fail(dinoml_bad_argument, "warmup and iterations must not be negative");
  Launch& launch = checked(call);
  const FunctionDesc& function = module_.function(call.function);
  FunctionState& state = functions_[static_cast<size_t>(call.function)];
  check_outputs(function, call.outputs, call.n_outputs, launch.output_shapes.data());
  check_overlap(function, call.inputs, call.outputs);
  const Module::Reading reading(module_);
  if (const char* name = module_.constants.first_unset())
    fail(dinoml_constants_missing, "constant \"", name, "\" has no value. Call load_constants, or set it");
  place(launch);
  state.last_shapes.clear();
  pool_.enter();
  const DefaultFloatEnvironment environment;
  for (int32_t i = -warmup; i < iterations; ++i) {
    const bool timed = i >= 0;
    const int64_t before = run_ns && timed ? now_ns() : 0;
    start(call, launch, step_ns && timed ? step_ns + int64_t{i} * function.n_steps : nullptr);
    if (run_ns && timed) run_ns[i] = now_ns() - before;
  }
  remember_shapes(function, state, launch);
}

int32_t Session::find_state(const char* name) const {
  for (int32_t i = 0; name && i < module_.desc.n_states; ++i)
    if (strcmp(module_.desc.states[i].tensor.name, name) == 0) return i;
  fail(dinoml_unknown_name, "there is no state \"", name ? name : "(null)", "\" in module \"", module_.desc.name, "\"");
}

void Session::get_state(const char* name, const dinoml_tensor& destination) {
  const Use use(*this);
  const int32_t i = find_state(name);
  const TensorDesc& tensor = module_.desc.states[i].tensor;
  check_fixed("state", tensor, destination);
  if (tensor.nbytes > 0) memcpy(address(destination), states_[static_cast<size_t>(i)].data(), static_cast<size_t>(tensor.nbytes));
}

void Session::set_state(const char* name, const dinoml_tensor& source) {
  const Use use(*this);
  const int32_t i = find_state(name);
  const TensorDesc& tensor = module_.desc.states[i].tensor;
  check_fixed("state", tensor, source);
  if (tensor.nbytes > 0) memcpy(states_[static_cast<size_t>(i)].data(), address(source), static_cast<size_t>(tensor.nbytes));
}

void Session::reset_states(const char* name) {
  const Use use(*this);
  const int32_t only = name ? find_state(name) : -1;
  for (size_t i = 0; i < states_.size(); ++i)
    if (only < 0 || static_cast<size_t>(only) == i) memset(states_[i].data(), 0, static_cast<size_t>(states_[i].bytes()));
}

}  // namespace dinoml::rt
