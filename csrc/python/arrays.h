// NumPy arrays and DLPack capsules to dinoml_tensor and back.
#pragma once
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <memory>
#include <string>
#include <vector>

#include "dinoml/artifact.hpp"

namespace dinoml::python {

namespace py = pybind11;

py::dtype numpy_dtype(int32_t dtype);

// A tensor in somebody else's memory, kept alive by `owner`.
struct Borrowed {
  std::vector<int64_t> shape, strides;
  void* data = nullptr;
  int32_t dtype = 0;
  int32_t device_type = dinoml_cpu, device_id = 0;
  bool writable = true;
  py::object owner;

  dinoml_tensor view() const {
    return {data, shape.data(), strides.data(), 0, static_cast<int32_t>(shape.size()), dtype, device_type, device_id};
  }
};

// what: `input "x"`. copy: a non-contiguous array is copied, otherwise it is left for the runtime to refuse.
Borrowed from_numpy(const std::string& what, py::handle array, bool copy);

// An ndarray, or anything with __dlpack__ on the CPU; never copies.
Borrowed from_any(const std::string& what, py::handle object);

// An output: memory from a session's pool with the extents that the run produced.
class Array : public std::enable_shared_from_this<Array> {
 public:
  Array(std::shared_ptr<void> memory, int32_t dtype, std::vector<int64_t> shape, std::vector<int64_t> strides)
      : memory_(std::move(memory)), dtype_(dtype), shape_(std::move(shape)), strides_(std::move(strides)) {}

  int32_t dtype() const { return dtype_; }
  const std::vector<int64_t>& shape() const { return shape_; }

  py::array numpy() const;
  py::capsule dlpack(const py::object& max_version) const;

 private:
  template <class Managed> py::capsule export_as(const char* capsule_name) const;

  std::shared_ptr<void> memory_;
  int32_t dtype_;
  std::vector<int64_t> shape_, strides_;  // strides count elements
};

// The array over `memory` without the detour through an Array object.
py::array numpy_over(const std::shared_ptr<void>& memory, int32_t dtype, const std::vector<int64_t>& shape,
                     const std::vector<int64_t>& strides);

std::vector<int64_t> row_major_strides(const std::vector<int64_t>& shape);

}  // namespace dinoml::python
