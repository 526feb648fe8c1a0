#include "session.h"

#include <utility>

namespace dinoml::python {
namespace {

LoadOptions load_options(const std::string& constants, const std::string& verify, const std::string& expected_digest) {
  LoadOptions options;
  if (constants == "eager")
    options.constants = LoadOptions::Constants::eager;
  else if (constants == "deferred")
    options.constants = LoadOptions::Constants::deferred;
  else if (!constants.empty())
    throw Error(dinoml_bad_argument, "constants is \"" + constants + "\", expected \"eager\", \"deferred\" or None");
  if (verify == "full")
    options.verify = Verify::full;
  else if (verify != "fast")
    throw Error(dinoml_bad_argument, "verify is \"" + verify + "\", expected \"fast\" or \"full\"");
  options.expected_digest = expected_digest;
  return options;
}

std::string quoted(const char* kind, const std::string& name) { return std::string(kind) + " \"" + name + "\""; }

}  // namespace

PyModule::PyModule(const std::string& directory, const std::string& constants, const std::string& verify,
                   const std::string& expected_digest)
    : module_([&] {
        const LoadOptions options = load_options(constants, verify, expected_digest);
        const py::gil_scoped_release release;
        return Module::load(directory, options);
      }()) {}

void PyModule::close() {
  if (in_flight_ > 0) throw Error(dinoml_busy, "the module is in use by another thread");
  module_.close();
}

void PyModule::load_constants() {
  const InFlight call(in_flight_);
  module_.handle();
  const py::gil_scoped_release release;
  module_.load_constants();
}

void PyModule::unload_constants() {
  const InFlight call(in_flight_);
  module_.handle();
  const py::gil_scoped_release release;
  module_.unload_constants();
}

bool PyModule::constant_loaded(int32_t source) const {
  int32_t loaded = 0;
  module_.check(module_.api().constant_loaded(module_.handle(), source, &loaded));
  return loaded != 0;
}

void PyModule::set_constants(const py::dict& values) {
  std::vector<std::string> names;
  std::vector<Borrowed> borrowed;
  for (const auto& [name, value] : values) {
    names.push_back(py::cast<std::string>(name));
    const std::string what = quoted("constant", names.back());
    borrowed.push_back(py::isinstance<py::array>(value) ? from_numpy(what, value, true) : from_any(what, value));
  }
  std::vector<const char*> pointers;
  std::vector<dinoml_tensor> views;
  for (size_t i = 0; i < names.size(); ++i) {
    pointers.push_back(names[i].c_str());
    views.push_back(borrowed[i].view());
  }
  const InFlight call(in_flight_);
  dinoml_module* const handle = module_.handle();
  const py::gil_scoped_release release;
  module_.check(module_.api().set_constants(handle, pointers.data(), views.data(), static_cast<int32_t>(views.size())));
}

py::list PyModule::tensors(dinoml_role role, int32_t function, int32_t count) const {
  py::list out;
  for (int32_t i = 0; i < count; ++i) {
    const dinoml_tensor_info info = module_.tensor(role, function, i);
    py::list axes;
    for (int32_t a = 0; a < info.ndim; ++a) axes.append(py::make_tuple(info.axes[a].kind, info.axes[a].value));
    out.append(py::make_tuple(info.name, dinoml_dtype_name(info.dtype), axes));
  }
  return out;
}

py::dict PyModule::describe() const {
  const dinoml_module_info info = module_.info();
  py::list dims, functions;
  for (int32_t i = 0; i < info.n_dims; ++i) {
    dinoml_dim_info dim;
    module_.check(module_.api().dim_info(module_.handle(), i, &dim));
    dims.append(py::make_tuple(dim.name, dim.min, dim.max, dim.divisible_by));
  }
  for (int32_t f = 0; f < info.n_functions; ++f) {
    const dinoml_function_info function = module_.function(f);
    py::list steps;
    for (int32_t s = 0; s < function.n_steps; ++s) {
      dinoml_step_info step;
      module_.check(module_.api().step_info(module_.handle(), f, s, &step));
      steps.append(py::make_tuple(step.kernel, step.node, step.source));
    }
    functions.append(py::make_tuple(function.name, tensors(dinoml_role_input, f, function.n_inputs),
                                    tensors(dinoml_role_output, f, function.n_outputs), steps));
  }
  using namespace py::literals;
  return py::dict("name"_a = info.name, "target"_a = info.target, "dims"_a = dims, "functions"_a = functions,
                  "sources"_a = tensors(dinoml_role_source, 0, info.n_sources), "stored"_a = tensors(dinoml_role_stored, 0, info.n_stored),
                  "states"_a = tensors(dinoml_role_state, 0, info.n_states), "digest"_a = module_.manifest().digest);
}

const char* TraceOperand::kind() const {
  static const char* const names[] = {"null", "input", "output", "value", "constant", "source", "state", "extent"};
  return names[view_.kind];
}

py::array TraceOperand::numpy() const {
  if (!*alive_) throw Error(dinoml_closed, "operand \"" + name_ + "\" was read after the trace callback had ended");
  if (view_.dtype == 0 || !view_.data) throw Error(dinoml_bad_argument, "operand \"" + name_ + "\" holds no data");
  const py::array out(numpy_dtype(view_.dtype), view_.bytes / dinoml_dtype_bytes(view_.dtype));
  memcpy(const_cast<void*>(out.data()), view_.data, static_cast<size_t>(view_.bytes));
  return out;
}

PySession::PySession(const PyModule& module, int threads, bool debug)
    : module_(module.module()),
      session_(std::make_unique<Session>(module_, SessionOptions{threads, debug ? 1 : 0})),
      trace_callback_(py::none()) {
  const int32_t count = module_.info().n_functions;
  for (int32_t f = 0; f < count; ++f) {
    const dinoml_function_info info = module_.function(f);
    Function function;
    function.name = info.name;
    function.n_steps = info.n_steps;
    for (int32_t i = 0; i < info.n_inputs; ++i) {
      const dinoml_tensor_info t = module_.tensor(dinoml_role_input, f, i);
      function.inputs.push_back({py::str(t.name), t.dtype, t.ndim});
    }
    for (int32_t i = 0; i < info.n_outputs; ++i) {
      const dinoml_tensor_info t = module_.tensor(dinoml_role_output, f, i);
      function.outputs.push_back({py::str(t.name), t.dtype, t.ndim});
      function.output_axes += static_cast<size_t>(t.ndim);
    }
    functions_.push_back(std::move(function));
  }
}

dinoml_session* PySession::handle() const {
  if (!session_) throw Error(dinoml_closed, "the session is closed");
  return session_->handle();
}

int32_t PySession::find_function(const std::string& name) const {
  handle();
  if (name.empty() && functions_.size() == 1) return 0;
  for (size_t f = 0; f < functions_.size(); ++f)
    if (functions_[f].name == (name.empty() ? "main" : name)) return static_cast<int32_t>(f);
  return module_.find_function(name);  // throws, with the names that there are
}

template <class Body> void PySession::without_gil(Body&& body) {
  dinoml_session* const session = handle();
  const InFlight call(in_flight_);
  dinoml_status status = dinoml_ok;
  std::string message;
  {
    const py::gil_scoped_release release;
    status = body(session);
    if (status != dinoml_ok) message = module_.api().last_error();
  }
  if (trace_error_ && status == dinoml_aborted) std::rethrow_exception(std::exchange(trace_error_, nullptr));
  if (status != dinoml_ok) throw Error(status, message);
}

void PySession::bind_inputs(Call& call, const py::dict& inputs, bool copy) const {
  const Function& f = function(call.function);
  std::string missing, unknown, known;
  for (const Port& port : f.inputs) {
    known += (known.empty() ? "" : ", ") + std::string(port.name);
    PyObject* const value = PyDict_GetItemWithError(inputs.ptr(), port.name.ptr());
    if (!value) {
      missing += (missing.empty() ? "\"" : ", \"") + std::string(port.name) + "\"";
      continue;
    }
    const std::string what = quoted("input", port.name);
    call.borrowed.push_back(copy ? from_numpy(what, value, true) : from_any(what, value));
    call.inputs.push_back(call.borrowed.back().view());
  }
  if (!missing.empty())
    throw Error(dinoml_unknown_name, "function \"" + f.name + "\": input " + missing + " is missing (it takes: " + known + ")");
  if (inputs.size() == f.inputs.size()) return;
  for (const auto& [name, value] : inputs) {
    bool found = false;
    for (const Port& port : f.inputs) found = found || port.name.equal(name);
    if (!found) unknown += (unknown.empty() ? "\"" : ", \"") + std::string(py::str(name)) + "\"";
  }
  throw Error(dinoml_unknown_name, "function \"" + f.name + "\" has no input " + unknown + " (it takes: " + known + ")");
}

PySession::Call PySession::prepare(const py::dict& inputs, const std::string& function_name, bool copy) {
  Call call;
  call.function = find_function(function_name);
  const Function& f = function(call.function);
  call.borrowed.reserve(f.inputs.size());
  bind_inputs(call, inputs, copy);
  call.shapes.resize(f.output_axes);
  module_.check(module_.api().infer_shapes(handle(), call.function, call.inputs.data(), static_cast<int32_t>(call.inputs.size()),
                                           call.shapes.data(), static_cast<int32_t>(call.shapes.size())));
  auto at = call.shapes.begin();
  for (const Port& port : f.outputs) {
    call.capacity.emplace_back(at, at + port.ndim);
    at += port.ndim;
  }
  return call;
}

void PySession::bind_outputs(Call& call, const py::dict& out) {
  const Function& f = function(call.function);
  int64_t total = 0;
  for (size_t i = 0; i < f.outputs.size(); ++i) {
    const Port& port = f.outputs[i];
    PyObject* const given = out.empty() ? nullptr : PyDict_GetItemWithError(out.ptr(), port.name.ptr());
    call.given.push_back(given ? py::reinterpret_borrow<py::object>(given) : py::object());
    if (given) {
      call.borrowed.push_back(from_any(quoted("output", port.name), given));
      if (!call.borrowed.back().writable) throw Error(dinoml_bad_argument, quoted("output", port.name) + " is read-only");
      call.outputs.push_back(call.borrowed.back().view());
      call.memory.emplace_back();
      continue;
    }
    int64_t bytes = dinoml_dtype_bytes(port.dtype);
    for (const int64_t extent : call.capacity[i]) bytes *= extent;
    call.memory.push_back(pool_->take(bytes));
    call.outputs.push_back({call.memory.back().get(), call.capacity[i].data(), nullptr, 0, port.ndim, port.dtype, dinoml_cpu, 0});
    total += bytes + (bytes >= (2 << 20) ? 2 << 20 : 64);
  }
  pool_->set_limit(total);
  for (const auto& [name, value] : out) {
    bool known = false;
    for (const Port& port : f.outputs) known = known || port.name.equal(name);
    if (!known) throw Error(dinoml_unknown_name, "function \"" + f.name + "\" has no output \"" + std::string(py::str(name)) + "\"");
  }
}

std::vector<int64_t> PySession::actual_shapes(int32_t f) {
  std::vector<int64_t> shapes(function(f).output_axes);
  module_.check(module_.api().output_shapes(handle(), f, shapes.data(), static_cast<int32_t>(shapes.size())));
  return shapes;
}

std::vector<std::vector<int64_t>> PySession::execute(const Call& call) {
  without_gil([&](dinoml_session* session) {
    return module_.api().run(session, call.function, call.inputs.data(), static_cast<int32_t>(call.inputs.size()), call.outputs.data(),
                             static_cast<int32_t>(call.outputs.size()));
  });
  const std::vector<int64_t> flat = actual_shapes(call.function);
  std::vector<std::vector<int64_t>> shapes;
  auto at = flat.begin();
  for (const Port& port : function(call.function).outputs) {
    shapes.emplace_back(at, at + port.ndim);
    at += port.ndim;
  }
  return shapes;
}

// Results keep the strides of their buffers, of which run-time extents take the leading part.
py::dict PySession::run_numpy(const py::dict& inputs, const std::string& function_name) {
  Call call = prepare(inputs, function_name, true);
  bind_outputs(call, py::dict());
  const std::vector<std::vector<int64_t>> shapes = execute(call);
  py::dict results;
  for (size_t i = 0; i < shapes.size(); ++i) {
    const Port& port = function(call.function).outputs[i];
    results[port.name] = numpy_over(call.memory[i], port.dtype, shapes[i], row_major_strides(call.capacity[i]));
  }
  return results;
}

py::dict PySession::run(const py::dict& inputs, const std::string& function_name, const py::dict& out) {
  Call call = prepare(inputs, function_name, false);
  bind_outputs(call, out);
  const std::vector<std::vector<int64_t>> shapes = execute(call);
  py::dict results;
  for (size_t i = 0; i < shapes.size(); ++i) {
    const Port& port = function(call.function).outputs[i];
    results[port.name] =
        call.given[i] ? call.given[i]
                      : py::cast(std::make_shared<Array>(call.memory[i], port.dtype, shapes[i], row_major_strides(call.capacity[i])));
  }
  return results;
}

py::tuple PySession::benchmark(const py::dict& inputs, const std::string& function_name, int32_t warmup, int32_t iterations,
                               bool per_kernel) {
  if (warmup < 0 || iterations < 1) throw Error(dinoml_bad_argument, "benchmark needs warmup >= 0 and iterations >= 1");
  Call call = prepare(inputs, function_name, true);
  bind_outputs(call, py::dict());
  const int32_t n_steps = function(call.function).n_steps;
  const py::array_t<int64_t> runs(iterations);
  const py::array_t<int64_t> steps({iterations, per_kernel ? n_steps : 0});
  int64_t* const run_ns = const_cast<int64_t*>(runs.data());
  int64_t* const step_ns = per_kernel ? const_cast<int64_t*>(steps.data()) : nullptr;
  without_gil([&](dinoml_session* session) {
    return module_.api().benchmark(session, call.function, call.inputs.data(), static_cast<int32_t>(call.inputs.size()),
                                   call.outputs.data(), static_cast<int32_t>(call.outputs.size()), warmup, iterations, run_ns, step_ns);
  });
  return py::make_tuple(runs, steps);
}

py::dict PySession::infer_shapes(const py::dict& inputs, const std::string& function_name) {
  const Call call = prepare(inputs, function_name, true);
  py::dict out;
  for (size_t i = 0; i < call.capacity.size(); ++i) out[function(call.function).outputs[i].name] = py::tuple(py::cast(call.capacity[i]));
  return out;
}

py::tuple PySession::output_shape(const std::string& output, const std::string& function_name) {
  const int32_t index = find_function(function_name);
  const std::vector<int64_t> shapes = actual_shapes(index);
  auto at = shapes.begin();
  for (const Port& port : function(index).outputs) {
    if (output == std::string(port.name)) return py::tuple(py::cast(std::vector<int64_t>(at, at + port.ndim)));
    at += port.ndim;
  }
  throw Error(dinoml_unknown_name, "function \"" + function(index).name + "\" has no output \"" + output + "\"");
}

int PySession::trace(void* pointer, const dinoml_trace_event* event) {
  const py::gil_scoped_acquire acquire;
  PySession* const self = static_cast<PySession*>(pointer);
  const auto alive = std::make_shared<bool>(true);
  int stop = 0;
  try {
    py::list operands;
    for (int32_t i = 0; i < event->n_operands; ++i) operands.append(TraceOperand(event->operands[i], alive));
    self->trace_callback_(event->function, event->step, event->kernel, event->node, event->source, operands);
  } catch (...) {
    self->trace_error_ = std::current_exception();
    stop = 1;
  }
  *alive = false;
  return stop;
}

void PySession::set_trace(const py::object& callback) {
  module_.check(module_.api().session_trace(handle(), callback.is_none() ? nullptr : trace, this));
  trace_callback_ = callback;
}

py::array PySession::get_state(const std::string& name) {
  handle();
  const int32_t count = module_.info().n_states;
  for (int32_t i = 0; i < count; ++i) {
    const dinoml_tensor_info info = module_.tensor(dinoml_role_state, 0, i);
    if (name != info.name) continue;
    std::vector<int64_t> shape;
    for (int32_t a = 0; a < info.ndim; ++a) shape.push_back(info.axes[a].value);
    const py::array out(numpy_dtype(info.dtype), std::vector<py::ssize_t>(shape.begin(), shape.end()));
    const dinoml_tensor view = {const_cast<void*>(out.data()), shape.data(), nullptr, 0, info.ndim, info.dtype, dinoml_cpu, 0};
    module_.check(module_.api().state_get(handle(), name.c_str(), &view));
    return out;
  }
  const dinoml_tensor nothing = {};
  module_.check(module_.api().state_get(handle(), name.c_str(), &nothing));  // throws, with the runtime's words
  return {};
}

void PySession::set_state(const std::string& name, const py::object& value) {
  const Borrowed borrowed = from_numpy(quoted("state", name), value, true);
  const dinoml_tensor view = borrowed.view();
  module_.check(module_.api().state_set(handle(), name.c_str(), &view));
}

void PySession::reset_states(const std::optional<std::string>& name) {
  module_.check(module_.api().state_reset(handle(), name ? name->c_str() : nullptr));
}

py::dict PySession::info() {
  dinoml_session_info info;
  module_.check(module_.api().session_info(handle(), &info));
  using namespace py::literals;
  return py::dict("threads"_a = info.threads, "debug"_a = info.debug != 0, "arena_bytes"_a = info.arena_bytes,
                  "scratch_bytes"_a = info.scratch_bytes, "state_bytes"_a = info.state_bytes);
}

void PySession::trim() { module_.check(module_.api().session_trim(handle())); }

void PySession::close() {
  if (!session_) return;
  if (in_flight_ > 0) throw Error(dinoml_busy, "the session is running and cannot be closed");
  session_->close();
  session_.reset();
  trace_callback_ = py::none();
}

}  // namespace dinoml::python
