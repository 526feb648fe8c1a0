// dinoml._native: what Python needs from C++. Loading and running artifacts, digests, CPU features.
#include <pybind11/pybind11.h>

#include <string>

#include "arrays.h"
#include "cpu_count.h"
#include "session.h"

namespace dinoml::python {
namespace {

std::string sha256_of_file(const std::string& path) {
  const py::gil_scoped_release release;
  const FileView file(path);
  return sha256(file.data(), file.bytes());
}

std::string fast_hash_of_file(const std::string& path) {
  const py::gil_scoped_release release;
  const FileView file(path);
  return fast_hash(file.data(), file.bytes());
}

std::string fast_hash_of_bytes(const py::buffer& buffer) {
  const py::buffer_info info = buffer.request();
  return fast_hash(info.ptr, static_cast<size_t>(info.size * info.itemsize));
}

void verify_artifact(const std::string& directory, bool full, bool constants) {
  const py::gil_scoped_release release;
  verify_files(directory, read_manifest(directory), full ? Verify::full : Verify::fast, constants);
}

// dinoml/runtime/errors.py holds one class per status.
void translate(std::exception_ptr pointer) {
  try {
    if (pointer) std::rethrow_exception(pointer);
  } catch (const Error& error) {
    const py::object made =
        py::module_::import("dinoml.runtime.errors").attr("from_status")(static_cast<int>(error.status()), error.what());
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
  }
}

void bind_digests(py::module_& m) {
  m.def("sha256_file", sha256_of_file, py::arg("path"));
  m.def("fast_hash_file", fast_hash_of_file, py::arg("path"));
  m.def("fast_hash", fast_hash_of_bytes, py::arg("data"));
  m.def("verify_artifact", verify_artifact, py::arg("directory"), py::arg("full"), py::arg("constants"));
  m.def("cpu_features", cpu_features);
  m.def("usable_cores", rt::usable_cores);
  m.attr("ABI_VERSION") = DINOML_ABI_VERSION;
  m.attr("FORMAT_VERSION") = kFormatVersion;
}

void bind_array(py::module_& m) {
  py::class_<Array, std::shared_ptr<Array>>(m, "Array")
      .def_property_readonly("shape", [](const Array& a) { return py::tuple(py::cast(a.shape())); })
      .def_property_readonly("dtype", [](const Array& a) { return std::string(dinoml_dtype_name(a.dtype())); })
      .def("numpy", &Array::numpy)
      .def(
          "__array__",
          [](const Array& a, const py::object& dtype, const py::object& copy) {
            return py::module_::import("numpy").attr("array")(a.numpy(), dtype, py::arg("copy") = copy);
          },
          py::arg("dtype") = py::none(), py::arg("copy") = py::none())
      .def("__dlpack_device__", [](const Array&) { return py::make_tuple(1, 0); })
      .def("__dlpack__", [](const Array& a, const py::kwargs& options) {
        return a.dlpack(options.contains("max_version") ? py::object(options["max_version"]) : py::none());
      });
}

void bind_session(py::module_& m) {
  py::class_<TraceOperand>(m, "TraceOperand")
      .def_property_readonly("kind", &TraceOperand::kind)
      .def_property_readonly("name", &TraceOperand::name)
      .def_property_readonly("dtype", &TraceOperand::dtype)
      .def_property_readonly("nbytes", &TraceOperand::bytes)
      .def_property_readonly("index", &TraceOperand::index)
      .def("numpy", &TraceOperand::numpy);
  py::class_<PySession>(m, "Session")
      .def(py::init<const PyModule&, int, bool>(), py::arg("module"), py::arg("threads"), py::arg("debug"))
      .def("run_numpy", &PySession::run_numpy, py::arg("inputs"), py::arg("function"))
      .def("run", &PySession::run, py::arg("inputs"), py::arg("function"), py::arg("out"))
      .def("benchmark", &PySession::benchmark, py::arg("inputs"), py::arg("function"), py::arg("warmup"), py::arg("iterations"),
           py::arg("per_kernel"))
      .def("infer_shapes", &PySession::infer_shapes, py::arg("inputs"), py::arg("function"))
      .def("output_shape", &PySession::output_shape, py::arg("output"), py::arg("function"))
      .def("set_trace", &PySession::set_trace, py::arg("callback"))
      .def("get_state", &PySession::get_state, py::arg("name"))
      .def("set_state", &PySession::set_state, py::arg("name"), py::arg("value"))
      .def("reset_states", &PySession::reset_states, py::arg("name"))
      .def("info", &PySession::info)
      .def("trim", &PySession::trim)
      .def("close", &PySession::close);
}

void bind_module(py::module_& m) {
  py::class_<PyModule>(m, "Module")
      .def(py::init<const std::string&, const std::string&, const std::string&, const std::string&>(), py::arg("directory"),
           py::arg("constants"), py::arg("verify"), py::arg("expected_digest"))
      .def("describe", &PyModule::describe)
      .def("close", &PyModule::close)
      .def("load_constants", &PyModule::load_constants)
      .def("unload_constants", &PyModule::unload_constants)
      .def("constant_loaded", &PyModule::constant_loaded, py::arg("source"))
      .def("set_constants", &PyModule::set_constants, py::arg("values"));
}

}  // namespace
}  // namespace dinoml::python

PYBIND11_MODULE(_native, m) {
  pybind11::register_local_exception_translator(dinoml::python::translate);
  dinoml::python::bind_digests(m);
  dinoml::python::bind_array(m);
  dinoml::python::bind_module(m);
  dinoml::python::bind_session(m);
}
