// The table of the C ABI: null checks, then one call into the runtime each.
#include <memory>
#include <utility>

#include "module.h"
#include "session.h"
#include "status.h"

struct dinoml_module : dinoml::rt::Module {
  using Module::Module;
};
struct dinoml_session : dinoml::rt::Session {
  using Session::Session;
};

namespace dinoml::rt {
namespace {

template <class T> T& need(T* pointer, const char* what) {
  if (!pointer) fail(dinoml_bad_argument, what, " is a null pointer");
  return *pointer;
}

dinoml_status module_open(const char* directory, const dinoml_open_options* options, dinoml_module** module) {
  return guarded([&] {
    need(directory, "directory");
    need(module, "module") = new dinoml_module(dinoml_module_desc, directory, options && options->deferred_constants);
  });
}

dinoml_status module_close(dinoml_module* module) {
  return guarded([&] {
    if (module && module->sessions.load() > 0)
      fail(dinoml_busy, "the module has ", module->sessions.load(), " open sessions. Destroy them first");
    delete module;
  });
}

dinoml_status module_info(const dinoml_module* module, dinoml_module_info* info) {
  return guarded([&] {
    const ModuleDesc& d = need(module, "module").desc;
    need(info, "info") = {d.name, d.target, d.features, d.digest, d.n_functions, d.n_dims, d.n_sources, d.n_stored, d.n_states};
  });
}

dinoml_status function_info(const dinoml_module* module, int32_t function, dinoml_function_info* info) {
  return guarded([&] {
    const FunctionDesc& f = need(module, "module").function(function);
    need(info, "info") = {f.name, f.n_inputs, f.n_outputs, f.n_steps};
  });
}

dinoml_status dim_info(const dinoml_module* module, int32_t dim, dinoml_dim_info* info) {
  return guarded([&] {
    const ModuleDesc& d = need(module, "module").desc;
    if (dim < 0 || dim >= d.n_dims) fail(dinoml_unknown_name, "there is no dim ", dim);
    need(info, "info") = {d.dims[dim].name, d.dims[dim].min, d.dims[dim].max, d.dims[dim].divisible_by};
  });
}

dinoml_status tensor_info(const dinoml_module* module, int32_t role, int32_t function, int32_t index, dinoml_tensor_info* info) {
  return guarded([&] { need(info, "info") = need(module, "module").tensor_info(role, function, index); });
}

dinoml_status step_info(const dinoml_module* module, int32_t function, int32_t step, dinoml_step_info* info) {
  return guarded([&] {
    const FunctionDesc& f = need(module, "module").function(function);
    if (step < 0 || step >= f.n_steps) fail(dinoml_unknown_name, "function \"", f.name, "\" has no step ", step);
    const StepDesc& s = f.steps[step];
    need(info, "info") = {module->desc.kernel_names[s.variants[0].kernel], s.node, s.source, s.n_variants};
  });
}

dinoml_status load_constants(dinoml_module* module) {
  return guarded([&] { need(module, "module").load_constants(); });
}

dinoml_status unload_constants(dinoml_module* module) {
  return guarded([&] { need(module, "module").unload_constants(); });
}

dinoml_status constant_loaded(dinoml_module* module, int32_t source, int32_t* loaded) {
  return guarded([&] { need(loaded, "loaded") = need(module, "module").constant_loaded(source) ? 1 : 0; });
}

dinoml_status set_constants(dinoml_module* module, const char* const* names, const dinoml_tensor* values, int32_t count) {
  return guarded([&] { need(module, "module").set_constants(names, values, count); });
}

dinoml_status session_create(dinoml_module* module, const dinoml_session_options* options, dinoml_session** session) {
  return guarded([&] {
    const int threads = options ? options->threads : 0;
    if (threads < 0 || threads > 4096) fail(dinoml_bad_argument, "threads is ", threads, ", expected 1..4096, or 0 for the default");
    need(session, "session") = new dinoml_session(need(module, "module"), threads, options && options->debug);
  });
}

dinoml_status session_destroy(dinoml_session* session) {
  return guarded([&] {
    if (session) session->info();  // refuses while a run is in progress
    delete session;
  });
}

dinoml_status session_info(dinoml_session* session, dinoml_session_info* info) {
  return guarded([&] { need(info, "info") = need(session, "session").info(); });
}

dinoml_status session_trim(dinoml_session* session) {
  return guarded([&] { need(session, "session").trim(); });
}

dinoml_status session_trace(dinoml_session* session, dinoml_trace_fn callback, void* user) {
  return guarded([&] { need(session, "session").set_trace(callback, user); });
}

dinoml_status infer_shapes(dinoml_session* session, int32_t function, const dinoml_tensor* inputs, int32_t n_inputs, int64_t* shapes,
                           int32_t count) {
  return guarded([&] { need(session, "session").infer_shapes(function, inputs, n_inputs, shapes, count); });
}

dinoml_status output_shapes(dinoml_session* session, int32_t function, int64_t* shapes, int32_t count) {
  return guarded([&] { need(session, "session").output_shapes(function, shapes, count); });
}

dinoml_status run(dinoml_session* session, int32_t function, const dinoml_tensor* inputs, int32_t n_inputs, const dinoml_tensor* outputs,
                  int32_t n_outputs) {
  return guarded([&] { need(session, "session").run({function, inputs, n_inputs, outputs, n_outputs}); });
}

dinoml_status benchmark(dinoml_session* session, int32_t function, const dinoml_tensor* inputs, int32_t n_inputs,
                        const dinoml_tensor* outputs, int32_t n_outputs, int32_t warmup, int32_t iterations, int64_t* run_ns,
                        int64_t* step_ns) {
  return guarded([&] {
    need(session, "session")
        .benchmark({function, inputs, n_inputs, outputs, n_outputs}, warmup, iterations, &need(run_ns, "run_ns"), step_ns);
  });
}

dinoml_status state_get(dinoml_session* session, const char* name, const dinoml_tensor* destination) {
  return guarded([&] { need(session, "session").get_state(name, need(destination, "destination")); });
}

dinoml_status state_set(dinoml_session* session, const char* name, const dinoml_tensor* source) {
  return guarded([&] { need(session, "session").set_state(name, need(source, "source")); });
}

dinoml_status state_reset(dinoml_session* session, const char* name) {
  return guarded([&] { need(session, "session").reset_states(name); });
}

const dinoml_api api = {
    DINOML_ABI_VERSION, sizeof(dinoml_api),
    last_error,         module_open,
    module_close,       module_info,
    function_info,      dim_info,
    tensor_info,        step_info,
    load_constants,     unload_constants,
    constant_loaded,    set_constants,
    session_create,     session_destroy,
    session_info,       session_trim,
    session_trace,      infer_shapes,
    output_shapes,      run,
    benchmark,          state_get,
    state_set,          state_reset,
};

}  // namespace
}  // namespace dinoml::rt

extern "C" __attribute__((visibility("default"))) const dinoml_api* dinoml_get_api(uint32_t version) {
  return version == DINOML_ABI_VERSION ? &dinoml::rt::api : nullptr;
}
