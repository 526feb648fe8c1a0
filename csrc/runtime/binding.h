// Checks of what a caller passes: count, rank, dtype, device, layout, extents, dims, overlap. All messages name the tensor.
#pragma once
#include <stdint.h>

#include <string>
#include <vector>

#include "dinoml/dinoml.h"
#include "module_desc.h"

namespace dinoml::rt {

inline unsigned char* address(const dinoml_tensor& tensor) { return static_cast<unsigned char*>(tensor.data) + tensor.byte_offset; }

int64_t tensor_bytes(const dinoml_tensor& tensor);

// Everything but the extents. what: "input", "output", "constant", "state".
void check_tensor(const char* what, const TensorDesc& desc, const dinoml_tensor& tensor);

// A tensor whose axes are all fixed.
void check_fixed(const char* what, const TensorDesc& desc, const dinoml_tensor& tensor);

// Checks the inputs and writes the value of each module dim (its minimum where no input of the function binds it).
void bind_dims(const ModuleDesc& module, const FunctionDesc& function, const dinoml_tensor* inputs, int32_t n_inputs,
               std::vector<int64_t>& dims);

// Axes whose extents are expressions, which need the function's integers.
void check_computed_inputs(const ModuleDesc& module, const FunctionDesc& function, const dinoml_tensor* inputs, const int64_t* ints);

// shapes: the extents of all outputs, one after the other.
void check_outputs(const FunctionDesc& function, const dinoml_tensor* outputs, int32_t n_outputs, const int64_t* shapes);
void check_overlap(const FunctionDesc& function, const dinoml_tensor* inputs, const dinoml_tensor* outputs);

}  // namespace dinoml::rt
