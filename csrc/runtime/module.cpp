#include "module.h"

#include <string.h>
#include <unistd.h>

#include <utility>

#include "binding.h"
#include "status.h"

namespace dinoml::rt {
namespace {

thread_local const Module::Reading* innermost_reading = nullptr;

void init_lock(pthread_rwlock_t* lock) {
  pthread_rwlockattr_t attributes;
  pthread_rwlockattr_init(&attributes);
  pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
  pthread_rwlock_init(lock, &attributes);
  pthread_rwlockattr_destroy(&attributes);
}

int32_t find_source(const ModuleDesc& desc, const char* name) {
  for (int32_t i = 0; name && i < desc.n_sources; ++i)
    if (strcmp(desc.sources[i].tensor.name, name) == 0) return i;
  return -1;
}

}  // namespace

class Module::Writing {
 public:
  explicit Writing(Module& module) : module_(module) {
    if (Reading::held_by_this_thread(module)) fail(dinoml_busy, "constants cannot change during a run of the same module");
    module_.renew_lock_after_fork();
    pthread_rwlock_wrlock(&module_.lock_);
  }
  ~Writing() { pthread_rwlock_unlock(&module_.lock_); }

 private:
  Module& module_;
};

Module::Reading::Reading(Module& module) : module_(module), outer_(innermost_reading), locks_(!held_by_this_thread(module)) {
  module_.renew_lock_after_fork();
  if (locks_) pthread_rwlock_rdlock(&module_.lock_);
  innermost_reading = this;
}

Module::Reading::~Reading() {
  innermost_reading = outer_;
  if (locks_) pthread_rwlock_unlock(&module_.lock_);
}

bool Module::Reading::held_by_this_thread(const Module& module) {
  for (const Reading* reading = innermost_reading; reading; reading = reading->outer_)
    if (&reading->module_ == &module) return true;
  return false;
}

Module::Module(const ModuleDesc& d, const std::string& directory, bool deferred_constants)
    : desc(d), constants(d, directory + "/constants.safetensors"), lock_pid_(getpid()) {
  if (desc.descriptor_version != 1)
    fail(dinoml_unsupported_version, "the module's descriptor has version ", static_cast<int64_t>(desc.descriptor_version), ", expected 1");
  init_lock(&lock_);
  const auto add = [this](const TensorDesc& tensor) {
    std::vector<dinoml_axis> out;
    for (int32_t i = 0; i < tensor.ndim; ++i) {
      const AxisDesc& axis = tensor.axes[i];
      out.push_back({axis.kind, axis.kind == AxisDesc::fixed || axis.kind == AxisDesc::dim ? axis.value : 0});
    }
    axes_.push_back(std::move(out));
    tensors_.push_back(&tensor);
  };
  for (int32_t f = 0; f < desc.n_functions; ++f) {
    for (int32_t i = 0; i < desc.functions[f].n_inputs; ++i) add(desc.functions[f].inputs[i]);
    for (int32_t i = 0; i < desc.functions[f].n_outputs; ++i) add(desc.functions[f].outputs[i]);
  }
  for (int32_t i = 0; i < desc.n_sources; ++i) add(desc.sources[i].tensor);
  for (int32_t i = 0; i < desc.n_stored; ++i) add(desc.stored[i].tensor);
  for (int32_t i = 0; i < desc.n_states; ++i) add(desc.states[i].tensor);
  if (!deferred_constants) constants.load();
}

// The thread that held the lock at the time of the fork does not exist in the child.
void Module::renew_lock_after_fork() {
  const pid_t pid = getpid();
  pid_t before = lock_pid_.load();
  if (before != pid && lock_pid_.compare_exchange_strong(before, pid)) init_lock(&lock_);
}

const FunctionDesc& Module::function(int32_t index) const {
  if (index < 0 || index >= desc.n_functions)
    fail(dinoml_unknown_name, "there is no function ", index, "; the module has ", desc.n_functions);
  return desc.functions[index];
}

dinoml_tensor_info Module::tensor_info(int32_t role, int32_t f, int32_t index) const {
  const TensorDesc* tensor = nullptr;
  const auto in_range = [index](int32_t count) { return index >= 0 && index < count; };
  if (role == dinoml_role_input && in_range(function(f).n_inputs)) tensor = &function(f).inputs[index];
  if (role == dinoml_role_output && in_range(function(f).n_outputs)) tensor = &function(f).outputs[index];
  if (role == dinoml_role_source && in_range(desc.n_sources)) tensor = &desc.sources[index].tensor;
  if (role == dinoml_role_stored && in_range(desc.n_stored)) tensor = &desc.stored[index].tensor;
  if (role == dinoml_role_state && in_range(desc.n_states)) tensor = &desc.states[index].tensor;
  for (size_t i = 0; tensor && i < tensors_.size(); ++i)
    if (tensors_[i] == tensor) return {tensor->name, axes_[i].data(), tensor->dtype, tensor->ndim};
  fail(dinoml_unknown_name, "there is no tensor ", index, " in role ", role);
}

void Module::load_constants() {
  const Writing alone(*this);
  constants.load();
}

void Module::unload_constants() {
  const Writing alone(*this);
  constants.unload();
}

// A source that is not stored itself is there when all stored constants are: its results cannot be told apart by name.
bool Module::constant_loaded(int32_t source) const {
  if (source < 0 || source >= desc.n_sources) fail(dinoml_unknown_name, "there is no constant ", source);
  const int32_t stored = desc.sources[source].stored;
  return stored >= 0 ? constants.loaded(stored) : constants.first_unset() == nullptr;
}

void Module::set_constants(const char* const* names, const dinoml_tensor* values, int32_t count) {
  if (count > 0 && (!names || !values)) fail(dinoml_bad_argument, "names or values are a null pointer");
  std::vector<const void*> replaced(static_cast<size_t>(desc.n_sources), nullptr);
  for (int32_t i = 0; i < count; ++i) {
    const int32_t source = find_source(desc, names[i]);
    if (source < 0)
      fail(dinoml_unknown_name, "there is no constant \"", names[i] ? names[i] : "(null)", "\" in module \"", desc.name, "\"");
    check_fixed("constant", desc.sources[source].tensor, values[i]);
    if (replaced[static_cast<size_t>(source)]) fail(dinoml_bad_argument, "constant \"", names[i], "\" is given twice");
    static const unsigned char nothing = 0;  // zero elements may come with a null pointer
    replaced[static_cast<size_t>(source)] = values[i].data ? address(values[i]) : &nothing;
  }
  const Writing alone(*this);
  const Replacement replacement(desc, constants, std::move(replaced));
  constants.write(replacement.values());
}

}  // namespace dinoml::rt
