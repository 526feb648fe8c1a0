// The Python face of modules and sessions: dictionaries in, dictionaries out, the GIL released while native code runs.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "arrays.h"
#include "dinoml/dinoml.hpp"
#include "output_pool.h"

namespace dinoml::python {

// Counts calls that run without the GIL, so that close() can refuse instead of pulling the ground away.
class InFlight {
 public:
  explicit InFlight(int& count) : count_(count) { ++count_; }
  ~InFlight() { --count_; }

 private:
  int& count_;
};

class PyModule {
 public:
  PyModule(const std::string& directory, const std::string& constants, const std::string& verify, const std::string& expected_digest);

  const Module& module() const { return module_; }
  void close();
  void load_constants();
  void unload_constants();
  bool constant_loaded(int32_t source) const;
  void set_constants(const py::dict& values);
  py::dict describe() const;

 private:
  py::list tensors(dinoml_role role, int32_t function, int32_t count) const;

  Module module_;
  int in_flight_ = 0;
};

// One operand of a trace event. Valid during the callback only.
class TraceOperand {
 public:
  TraceOperand(const dinoml_operand_view& view, std::shared_ptr<bool> alive) : view_(view), alive_(std::move(alive)) {}

  const char* kind() const;
  std::string name() const { return name_; }
  std::string dtype() const { return dinoml_dtype_name(view_.dtype); }
  int64_t bytes() const { return view_.bytes; }
  int32_t index() const { return view_.index; }
  py::array numpy() const;  // a flat copy

 private:
  dinoml_operand_view view_;
  std::string name_ = view_.name;
  std::shared_ptr<bool> alive_;
};

class PySession {
 public:
  PySession(const PyModule& module, int threads, bool debug);

  py::dict run_numpy(const py::dict& inputs, const std::string& function);
  py::dict run(const py::dict& inputs, const std::string& function, const py::dict& out);
  py::tuple benchmark(const py::dict& inputs, const std::string& function, int32_t warmup, int32_t iterations, bool per_kernel);
  py::dict infer_shapes(const py::dict& inputs, const std::string& function);
  py::tuple output_shape(const std::string& output, const std::string& function);

  void set_trace(const py::object& callback);
  py::array get_state(const std::string& name);
  void set_state(const std::string& name, const py::object& value);
  void reset_states(const std::optional<std::string>& name);
  py::dict info();
  void trim();
  void close();

 private:
  struct Port {
    py::str name;
    int32_t dtype, ndim;
  };
  struct Function {
    std::string name;
    std::vector<Port> inputs, outputs;
    size_t output_axes = 0;
    int32_t n_steps = 0;
  };
  // One call's arguments; outputs[i] is backed by memory[i], or given by the caller.
  struct Call {
    int32_t function;
    std::vector<Borrowed> borrowed;
    std::vector<dinoml_tensor> inputs, outputs;
    std::vector<int64_t> shapes;
    std::vector<std::vector<int64_t>> capacity;
    std::vector<std::shared_ptr<void>> memory;
    std::vector<py::object> given;
  };

  static int trace(void* self, const dinoml_trace_event* event);
  dinoml_session* handle() const;
  int32_t find_function(const std::string& name) const;
  const Function& function(int32_t index) const { return functions_[static_cast<size_t>(index)]; }
  Call prepare(const py::dict& inputs, const std::string& function, bool copy);
  void bind_inputs(Call& call, const py::dict& inputs, bool copy) const;
  void bind_outputs(Call& call, const py::dict& out);
  template <class Body> void without_gil(Body&& body);
  // Runs, and returns the shape of each output.
  std::vector<std::vector<int64_t>> execute(const Call& call);
  std::vector<int64_t> actual_shapes(int32_t function);

  Module module_;
  std::unique_ptr<Session> session_;
  std::vector<Function> functions_;
  std::shared_ptr<OutputPool> pool_ = std::make_shared<OutputPool>();
  int in_flight_ = 0;
  py::object trace_callback_;
  std::exception_ptr trace_error_;
};

}  // namespace dinoml::python
