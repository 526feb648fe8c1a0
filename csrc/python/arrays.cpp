#include "arrays.h"

#include <utility>

#include "dlpack.h"

namespace dinoml::python {
namespace {

py::object ml_dtype(const char* name) { return py::module_::import("ml_dtypes").attr(name); }

const char* ml_name(int32_t dtype) {
  switch (dtype) {
    case dinoml_bfloat16: return "bfloat16";
    case dinoml_float8_e4m3: return "float8_e4m3fn";
    case dinoml_float8_e5m2: return "float8_e5m2";
    default: return nullptr;
  }
}

// Types of ml_dtypes are registered with NumPy at run time; their names are the only thing fixed.
int32_t extension_dtype(const py::dtype& dtype) {
  const std::string name = py::str(dtype.attr("name"));
  for (const int32_t candidate : {dinoml_bfloat16, dinoml_float8_e4m3, dinoml_float8_e5m2})
    if (name == ml_name(candidate)) return candidate;
  return 0;
}

int32_t dtype_of(const py::dtype& dtype) {
  if (dtype.byteorder() == '>') return 0;
  const py::ssize_t size = dtype.itemsize();
  switch (dtype.kind()) {
    case 'b': return dinoml_bool;
    case 'f':
      return size == 4 ? dinoml_float32 : size == 8 ? dinoml_float64 : size == 2 ? dinoml_float16 : size == 1 ? extension_dtype(dtype) : 0;
    case 'i': return size == 4 ? dinoml_int32 : size == 8 ? dinoml_int64 : size == 1 ? dinoml_int8 : 0;
    case 'u': return size == 1 ? dinoml_uint8 : 0;
    case 'V': return extension_dtype(dtype);
    default: return 0;
  }
}

[[noreturn]] void refuse_dtype(const std::string& what, const std::string& found) {
  const std::string hint = found == "uint16" ? ". For bfloat16 bits use array.view(ml_dtypes.bfloat16)" : "";
  throw Error(dinoml_dtype_mismatch, what + " has dtype " + found + ", which no artifact takes" + hint);
}

int32_t dlpack_dtype(const DLDataType& t) {
  if (t.lanes != 1) return 0;
  switch (t.code) {
    case kDLFloat: return t.bits == 32 ? dinoml_float32 : t.bits == 16 ? dinoml_float16 : t.bits == 64 ? dinoml_float64 : 0;
    case kDLBfloat: return t.bits == 16 ? dinoml_bfloat16 : 0;
    case kDLInt: return t.bits == 32 ? dinoml_int32 : t.bits == 64 ? dinoml_int64 : t.bits == 8 ? dinoml_int8 : 0;
    case kDLUInt: return t.bits == 8 ? dinoml_uint8 : 0;
    case kDLBool: return t.bits == 8 ? dinoml_bool : 0;
    case kDLFloat8_e4m3fn: return dinoml_float8_e4m3;
    case kDLFloat8_e5m2: return dinoml_float8_e5m2;
    default: return 0;
  }
}

DLDataType to_dlpack(int32_t dtype) {
  const uint8_t bits = static_cast<uint8_t>(8 * dinoml_dtype_bytes(dtype));
  switch (dtype) {
    case dinoml_int8:
    case dinoml_int32:
    case dinoml_int64: return {kDLInt, bits, 1};
    case dinoml_uint8: return {kDLUInt, bits, 1};
    case dinoml_bool: return {kDLBool, bits, 1};
    case dinoml_bfloat16: return {kDLBfloat, bits, 1};
    case dinoml_float8_e4m3: return {kDLFloat8_e4m3fn, bits, 1};
    case dinoml_float8_e5m2: return {kDLFloat8_e5m2, bits, 1};
    default: return {kDLFloat, bits, 1};
  }
}

// Takes over the managed tensor of a capsule: it is renamed, and `owner` calls the deleter.
template <class Managed> Managed* consume(py::capsule& capsule, const char* used_name, py::object& owner) {
  Managed* managed = capsule.get_pointer<Managed>();
  capsule.set_name(used_name);
  owner = py::capsule(managed, [](void* p) {
    Managed* m = static_cast<Managed*>(p);
    if (m->deleter) m->deleter(m);
  });
  return managed;
}

py::capsule request_capsule(py::handle object) {
  try {
    return object.attr("__dlpack__")(py::arg("max_version") = py::make_tuple(1, 0));
  } catch (py::error_already_set& error) {
    if (!error.matches(PyExc_TypeError)) throw;
  }
  return object.attr("__dlpack__")();  // an exporter from before DLPack 1.0
}

Borrowed from_dlpack(const std::string& what, py::handle object) {
  const py::tuple device = object.attr("__dlpack_device__")();
  if (device[0].cast<int32_t>() != kDLCPU)
    throw Error(dinoml_device_mismatch, what + " is on DLPack device type " + std::string(py::str(device[0])) + ", expected 1 (CPU)");
  py::capsule capsule;
  try {
    capsule = request_capsule(object);
  } catch (py::error_already_set& error) {
    throw Error(dinoml_bad_argument, what + " cannot be exported through DLPack without a copy: " + error.what());
  }
  Borrowed out;
  const DLTensor* tensor = nullptr;
  if (std::string(capsule.name()) == "dltensor_versioned") {
    const auto* managed = consume<DLManagedTensorVersioned>(capsule, "used_dltensor_versioned", out.owner);
    if (managed->version.major != 1)
      throw Error(dinoml_bad_argument, what + " uses DLPack " + std::to_string(managed->version.major) + ", expected 1");
    out.writable = (managed->flags & kDLReadOnly) == 0;
    tensor = &managed->dl_tensor;
  } else {
    tensor = &consume<DLManagedTensor>(capsule, "used_dltensor", out.owner)->dl_tensor;
  }
  out.dtype = dlpack_dtype(tensor->dtype);
  if (out.dtype == 0)
    refuse_dtype(what, "DLPack code " + std::to_string(tensor->dtype.code) + " with " + std::to_string(tensor->dtype.bits) + " bits");
  out.data = static_cast<char*>(tensor->data) + tensor->byte_offset;
  out.shape.assign(tensor->shape, tensor->shape + tensor->ndim);
  if (tensor->strides)
    out.strides.assign(tensor->strides, tensor->strides + tensor->ndim);
  else
    out.strides = row_major_strides(out.shape);
  return out;
}

}  // namespace

py::dtype numpy_dtype(int32_t dtype) {
  if (const char* name = ml_name(dtype)) return py::dtype::from_args(ml_dtype(name));
  switch (dtype) {
    case dinoml_float16: return py::dtype("float16");
    case dinoml_float32: return py::dtype::of<float>();
    case dinoml_float64: return py::dtype::of<double>();
    case dinoml_int32: return py::dtype::of<int32_t>();
    case dinoml_int64: return py::dtype::of<int64_t>();
    case dinoml_int8: return py::dtype::of<int8_t>();
    case dinoml_uint8: return py::dtype::of<uint8_t>();
    default: return py::dtype::of<bool>();
  }
}

std::vector<int64_t> row_major_strides(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t next = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = next;
    next *= shape[i];
  }
  return strides;
}

Borrowed from_numpy(const std::string& what, py::handle object, bool copy) {
  if (!py::isinstance<py::array>(object))
    throw Error(dinoml_bad_argument,
                what + " is a " + std::string(py::str(py::type::of(object).attr("__name__"))) + ", expected a numpy.ndarray");
  py::array array = py::reinterpret_borrow<py::array>(object);
  Borrowed out;
  out.dtype = dtype_of(array.dtype());
  if (out.dtype == 0) refuse_dtype(what, py::str(array.dtype()));
  constexpr int kPlain = py::detail::npy_api::NPY_ARRAY_C_CONTIGUOUS_ | py::detail::npy_api::NPY_ARRAY_ALIGNED_;
  if (copy && (array.flags() & kPlain) != kPlain) array = array.attr("copy")("C");
  const py::ssize_t size = array.itemsize();
  for (py::ssize_t i = 0; i < array.ndim(); ++i) {
    if (array.strides(i) % size != 0)
      throw Error(dinoml_not_contiguous, what + " has strides that are no multiple of its element size. Make a copy");
    out.shape.push_back(array.shape(i));
    out.strides.push_back(array.strides(i) / size);
  }
  out.data = const_cast<void*>(array.data());
  out.writable = array.writeable();
  out.owner = std::move(array);
  return out;
}

Borrowed from_any(const std::string& what, py::handle object) {
  if (py::isinstance<py::array>(object)) return from_numpy(what, object, false);
  if (py::hasattr(object, "__dlpack__") && py::hasattr(object, "__dlpack_device__")) return from_dlpack(what, object);
  throw Error(dinoml_bad_argument, what + " is a " + std::string(py::str(py::type::of(object).attr("__name__"))) +
                                       ", expected a numpy.ndarray or an object with __dlpack__");
}

py::array numpy_over(const std::shared_ptr<void>& memory, int32_t dtype, const std::vector<int64_t>& shape,
                     const std::vector<int64_t>& strides) {
  const int64_t size = dinoml_dtype_bytes(dtype);
  std::vector<py::ssize_t> bytes(strides.begin(), strides.end());
  for (py::ssize_t& stride : bytes) stride *= size;
  const py::capsule owner(new std::shared_ptr<void>(memory), [](void* p) { delete static_cast<std::shared_ptr<void>*>(p); });
  return py::array(numpy_dtype(dtype), std::vector<py::ssize_t>(shape.begin(), shape.end()), std::move(bytes), memory.get(), owner);
}

py::array Array::numpy() const { return numpy_over(memory_, dtype_, shape_, strides_); }

template <class Managed> py::capsule Array::export_as(const char* capsule_name) const {
  struct Holder {
    Managed managed{};
    std::shared_ptr<void> memory;
    std::vector<int64_t> shape, strides;
  };
  auto holder = std::make_unique<Holder>();
  holder->memory = memory_;
  holder->shape = shape_;
  holder->strides = strides_;
  DLTensor& tensor = holder->managed.dl_tensor;
  tensor = {
      memory_.get(), {kDLCPU, 0}, static_cast<int32_t>(shape_.size()), to_dlpack(dtype_), holder->shape.data(), holder->strides.data(), 0};
  holder->managed.manager_ctx = holder.get();
  holder->managed.deleter = [](Managed* self) { delete static_cast<Holder*>(self->manager_ctx); };
  if constexpr (std::is_same_v<Managed, DLManagedTensorVersioned>) holder->managed.version = {1, 0};
  // A consumer renames the capsule and calls the deleter itself.
  return py::reinterpret_steal<py::capsule>(PyCapsule_New(&holder.release()->managed, capsule_name, [](PyObject* capsule) {
    const char* const name = PyCapsule_GetName(capsule);
    if (!name || std::string(name).rfind("used_", 0) == 0) return;
    Managed* const managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
    managed->deleter(managed);
  }));
}

py::capsule Array::dlpack(const py::object& max_version) const {
  const bool versioned = !max_version.is_none() && max_version.cast<py::tuple>()[0].cast<int>() >= 1;
  return versioned ? export_as<DLManagedTensorVersioned>("dltensor_versioned") : export_as<DLManagedTensor>("dltensor");
}

}  // namespace dinoml::python
