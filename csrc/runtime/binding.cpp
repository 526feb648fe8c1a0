#include "binding.h"

#include "status.h"

namespace dinoml::rt {
namespace {

std::string wanted_shape(const ModuleDesc& module, const TensorDesc& desc, const int64_t* ints) {
  std::string out = "[";
  for (int32_t i = 0; i < desc.ndim; ++i) {
    const AxisDesc& axis = desc.axes[i];
    if (i > 0) out += ", ";
    if (axis.kind == AxisDesc::fixed)
      out += std::to_string(axis.value);
    else if (axis.kind == AxisDesc::dim)
      out += module.dims[axis.value].name;
    else
      out += ints ? std::to_string(ints[axis.value]) : "an expression";
  }
  return out + "]";
}

const char* device_name(int32_t device) {
  return device == dinoml_cpu ? "cpu" : device == dinoml_cuda ? "cuda" : device == dinoml_rocm ? "rocm" : "unknown";
}

bool row_major(const dinoml_tensor& tensor) {
  if (!tensor.strides) return true;
  for (int32_t i = 0; i < tensor.ndim; ++i)
    if (tensor.shape[i] == 0) return true;
  int64_t expected = 1;
  for (int32_t i = tensor.ndim - 1; i >= 0; --i) {
    if (tensor.shape[i] != 1 && tensor.strides[i] != expected) return false;
    expected *= tensor.shape[i];
  }
  return true;
}

void check_dim(const DimDesc& dim, const char* input, int32_t axis, int64_t value) {
  if (value < dim.min || value > dim.max)
    fail(dinoml_dim_out_of_range, "input \"", input, "\": axis ", axis, " (dim ", dim.name, ") is ", value, ", allowed ", dim.min, "..",
         dim.max, ". Split or pad the input, or compile with a wider Dim");
  if (dim.divisible_by > 1 && value % dim.divisible_by != 0)
    fail(dinoml_dim_out_of_range, "input \"", input, "\": axis ", axis, " (dim ", dim.name, ") is ", value, ", which is not a multiple of ",
         dim.divisible_by, ". Pad the input, or compile with a smaller divisible_by");
}

struct Binder {
  const char* input = nullptr;
  int32_t axis = 0;
};

void bind_axis(const ModuleDesc& module, const TensorDesc& desc, const dinoml_tensor& tensor, int32_t axis, std::vector<int64_t>& dims,
               std::vector<Binder>& binders) {
  const size_t index = static_cast<size_t>(desc.axes[axis].value);
  const int64_t value = tensor.shape[axis];
  Binder& binder = binders[index];
  if (!binder.input) {
    check_dim(module.dims[index], desc.name, axis, value);
    binder = {desc.name, axis};
    dims[index] = value;
  } else if (dims[index] != value) {
    fail(dinoml_shape_mismatch, "input \"", desc.name, "\": axis ", axis, " (dim ", module.dims[index].name, ") is ", value, ", but axis ",
         binder.axis, " of input \"", binder.input, "\" made that dim ", dims[index]);
  }
}

bool overlap(const dinoml_tensor& a, const dinoml_tensor& b) {
  const int64_t a_bytes = tensor_bytes(a), b_bytes = tensor_bytes(b);
  if (a_bytes == 0 || b_bytes == 0) return false;
  const uintptr_t a_begin = reinterpret_cast<uintptr_t>(address(a)), b_begin = reinterpret_cast<uintptr_t>(address(b));
  return a_begin < b_begin + static_cast<uintptr_t>(b_bytes) && b_begin < a_begin + static_cast<uintptr_t>(a_bytes);
}

}  // namespace

int64_t tensor_bytes(const dinoml_tensor& tensor) {
  int64_t bytes = dinoml_dtype_bytes(tensor.dtype);
  for (int32_t i = 0; i < tensor.ndim; ++i) bytes *= tensor.shape[i];
  return bytes;
}

void check_tensor(const char* what, const TensorDesc& desc, const dinoml_tensor& tensor) {
  if (tensor.ndim != desc.ndim) fail(dinoml_shape_mismatch, what, " \"", desc.name, "\" has ", tensor.ndim, " axes, expected ", desc.ndim);
  if (tensor.ndim > 0 && !tensor.shape) fail(dinoml_bad_argument, what, " \"", desc.name, "\" has no shape");
  if (tensor.dtype != desc.dtype)
    fail(dinoml_dtype_mismatch, what, " \"", desc.name, "\" is ", dinoml_dtype_name(tensor.dtype), ", expected ",
         dinoml_dtype_name(desc.dtype), ". Nothing is cast at run time: convert it first");
  if (tensor.device_type != dinoml_cpu)
    fail(dinoml_device_mismatch, what, " \"", desc.name, "\" is on device ", device_name(tensor.device_type), ", expected cpu");
  for (int32_t i = 0; i < tensor.ndim; ++i)
    if (tensor.shape[i] < 0) fail(dinoml_shape_mismatch, what, " \"", desc.name, "\": axis ", i, " is negative (", tensor.shape[i], ")");
  if (!row_major(tensor))
    fail(dinoml_not_contiguous, what, " \"", desc.name, "\" is not contiguous (shape ", shape_text(tensor.shape, tensor.ndim), ", strides ",
         shape_text(tensor.strides, tensor.ndim), "). Make a row-major copy");
  if (!tensor.data && tensor_bytes(tensor) > 0) fail(dinoml_bad_argument, what, " \"", desc.name, "\" has no data");
  if (reinterpret_cast<uintptr_t>(address(tensor)) % static_cast<uintptr_t>(dinoml_dtype_bytes(desc.dtype)) != 0)
    fail(dinoml_not_contiguous, what, " \"", desc.name, "\" is not aligned to the size of its elements. Make a copy");
}

void check_fixed(const char* what, const TensorDesc& desc, const dinoml_tensor& tensor) {
  check_tensor(what, desc, tensor);
  std::vector<int64_t> wanted;
  for (int32_t i = 0; i < desc.ndim; ++i) wanted.push_back(desc.axes[i].value);
  for (int32_t i = 0; i < desc.ndim; ++i)
    if (tensor.shape[i] != wanted[static_cast<size_t>(i)])
      fail(dinoml_shape_mismatch, what, " \"", desc.name, "\" has shape ", shape_text(tensor.shape, tensor.ndim), ", expected ",
           shape_text(wanted.data(), desc.ndim));
}

void bind_dims(const ModuleDesc& module, const FunctionDesc& function, const dinoml_tensor* inputs, int32_t n_inputs,
               std::vector<int64_t>& dims) {
  if (n_inputs != function.n_inputs)
    fail(dinoml_bad_argument, "function \"", function.name, "\" takes ", function.n_inputs, " inputs, got ", n_inputs);
  if (n_inputs > 0 && !inputs) fail(dinoml_bad_argument, "the inputs are a null pointer");
  dims.resize(static_cast<size_t>(module.n_dims));
  for (int32_t i = 0; i < module.n_dims; ++i) dims[static_cast<size_t>(i)] = module.dims[i].min;
  std::vector<Binder> binders(dims.size());
  for (int32_t i = 0; i < n_inputs; ++i) {
    const TensorDesc& desc = function.inputs[i];
    check_tensor("input", desc, inputs[i]);
    for (int32_t axis = 0; axis < desc.ndim; ++axis) {
      const AxisDesc& wanted = desc.axes[axis];
      if (wanted.kind == AxisDesc::dim)
        bind_axis(module, desc, inputs[i], axis, dims, binders);
      else if (wanted.kind == AxisDesc::fixed && inputs[i].shape[axis] != wanted.value)
        fail(dinoml_shape_mismatch, "input \"", desc.name, "\" has shape ", shape_text(inputs[i].shape, desc.ndim), ", expected ",
             wanted_shape(module, desc, nullptr), " (axis ", axis, " must be ", wanted.value, ")");
    }
  }
}

void check_computed_inputs(const ModuleDesc& module, const FunctionDesc& function, const dinoml_tensor* inputs, const int64_t* ints) {
  for (int32_t i = 0; i < function.n_inputs; ++i) {
    const TensorDesc& desc = function.inputs[i];
    for (int32_t axis = 0; axis < desc.ndim; ++axis)
      if (desc.axes[axis].kind == AxisDesc::computed && inputs[i].shape[axis] != ints[desc.axes[axis].value])
        fail(dinoml_shape_mismatch, "input \"", desc.name, "\" has shape ", shape_text(inputs[i].shape, desc.ndim), ", expected ",
             wanted_shape(module, desc, ints), " for the dims of this run (axis ", axis, " must be ", ints[desc.axes[axis].value], ")");
  }
}

void check_outputs(const FunctionDesc& function, const dinoml_tensor* outputs, int32_t n_outputs, const int64_t* shapes) {
  if (n_outputs != function.n_outputs)
    fail(dinoml_bad_argument, "function \"", function.name, "\" has ", function.n_outputs, " outputs, got ", n_outputs);
  if (n_outputs > 0 && !outputs) fail(dinoml_bad_argument, "the outputs are a null pointer");
  for (int32_t i = 0; i < n_outputs; ++i) {
    const TensorDesc& desc = function.outputs[i];
    check_tensor("output", desc, outputs[i]);
    for (int32_t axis = 0; axis < desc.ndim; ++axis)
      if (outputs[i].shape[axis] != shapes[axis])
        fail(dinoml_shape_mismatch, "output \"", desc.name, "\" has shape ", shape_text(outputs[i].shape, desc.ndim), ", expected ",
             shape_text(shapes, desc.ndim), " for these inputs");
    shapes += desc.ndim;
  }
}

void check_overlap(const FunctionDesc& function, const dinoml_tensor* inputs, const dinoml_tensor* outputs) {
  for (int32_t o = 0; o < function.n_outputs; ++o) {
    for (int32_t i = 0; i < function.n_inputs; ++i)
      if (overlap(outputs[o], inputs[i]))
        fail(dinoml_overlap, "output \"", function.outputs[o].name, "\" shares memory with input \"", function.inputs[i].name,
             "\". Give the output its own buffer; a value that is updated in place is a state");
    for (int32_t other = 0; other < o; ++other)
      if (overlap(outputs[o], outputs[other]))
        fail(dinoml_overlap, "output \"", function.outputs[o].name, "\" shares memory with output \"", function.outputs[other].name, "\"");
  }
}

}  // namespace dinoml::rt
