// The C ABI of a compiled module, version 1. A module.so exports one symbol, dinoml_get_api; everything else is reached through
// the table that it returns. Plain C99.
//
// Rules: every function returns a dinoml_status; on failure last_error() holds the text for the calling thread. A module may be
// used by any number of threads, a session by one thread at a time (a second entry returns dinoml_busy). Strings and
// arrays that queries hand out live as long as the module. This layer trusts the files of the artifact; the loaders
// (dinoml.hpp, Python) check their digests before any native code of the artifact runs.
#ifndef DINOML_DINOML_H_
#define DINOML_DINOML_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DINOML_ABI_VERSION 1u

typedef enum dinoml_dtype {
  dinoml_float16 = 1,
  dinoml_float32 = 2,
  dinoml_int32 = 3,
  dinoml_int64 = 4,
  dinoml_bool = 5,
  dinoml_bfloat16 = 6,
  dinoml_float8_e4m3 = 7,
  dinoml_float8_e5m2 = 8,
  dinoml_float64 = 9,
  dinoml_int8 = 10,
  dinoml_uint8 = 11
} dinoml_dtype;

typedef enum dinoml_device { dinoml_cpu = 0, dinoml_cuda = 1, dinoml_rocm = 2 } dinoml_device;

typedef enum dinoml_status_code {
  dinoml_ok = 0,
  dinoml_bad_argument = 1,    // null pointer, wrong count, wrong rank
  dinoml_unknown_name = 2,    // no such function, input, constant, state
  dinoml_shape_mismatch = 3,  // an extent differs from what it must equal
  dinoml_dtype_mismatch = 4,
  dinoml_dim_out_of_range = 5,  // a dim is outside min..max or not a multiple of divisible_by
  dinoml_device_mismatch = 6,
  dinoml_not_contiguous = 7,
  dinoml_overlap = 8,               // an output shares memory with an input or another output
  dinoml_damaged = 9,               // a file of the artifact is missing or not what was written
  dinoml_unsupported_version = 10,  // made by a newer or foreign writer
  dinoml_missing_cpu_feature = 11,
  dinoml_busy = 12,  // the session is running, or the module has open sessions
  dinoml_closed = 13,
  dinoml_constants_missing = 14,
  dinoml_kernel_failed = 15,  // a kernel returned a non-zero launch status
  dinoml_index_error = 16,    // a run-time index was out of range
  dinoml_out_of_memory = 17,
  dinoml_io_error = 18,
  dinoml_aborted = 19,  // the trace callback asked to stop
  dinoml_internal = 20
} dinoml_status_code;

typedef int32_t dinoml_status;

// A tensor in the caller's memory. strides count elements; NULL means row-major. Element (0, …, 0) lies byte_offset bytes after data.
typedef struct dinoml_tensor {
  void* data;
  const int64_t* shape;
  const int64_t* strides;
  uint64_t byte_offset;
  int32_t ndim;
  int32_t dtype;
  int32_t device_type;
  int32_t device_id;
} dinoml_tensor;

typedef struct dinoml_module dinoml_module;
typedef struct dinoml_session dinoml_session;

typedef enum dinoml_axis_kind {
  dinoml_axis_fixed = 0,
  dinoml_axis_dim = 1,
  dinoml_axis_computed = 2,
  dinoml_axis_extent = 3
} dinoml_axis_kind;

// One axis. value: the extent (fixed) or the index of the dim (dim); otherwise unused. The expression behind a computed axis is in
// manifest.json. An extent axis is known only after the run (output_shapes); before it, infer_shapes tells the capacity.
typedef struct dinoml_axis {
  int32_t kind;
  int64_t value;
} dinoml_axis;

typedef struct dinoml_tensor_info {
  const char* name;
  const dinoml_axis* axes;
  int32_t dtype;
  int32_t ndim;
} dinoml_tensor_info;

typedef enum dinoml_role {
  dinoml_role_input = 0,
  dinoml_role_output = 1,
  dinoml_role_source = 2,
  dinoml_role_stored = 3,
  dinoml_role_state = 4
} dinoml_role;

typedef struct dinoml_module_info {
  const char* name;
  const char* target;
  const char* features;
  const char* digest;
  int32_t n_functions;
  int32_t n_dims;
  int32_t n_sources;  // source constants, as the model's author named them
  int32_t n_stored;   // stored constants, as kernels read them
  int32_t n_states;
} dinoml_module_info;

typedef struct dinoml_function_info {
  const char* name;
  int32_t n_inputs;
  int32_t n_outputs;
  int32_t n_steps;
} dinoml_function_info;

typedef struct dinoml_dim_info {
  const char* name;
  int64_t min, max, divisible_by;
} dinoml_dim_info;

// kernel: the name of the first variant; a trace event names the one that ran.
typedef struct dinoml_step_info {
  const char* kernel;
  const char* node;
  const char* source;
  int32_t n_variants;
} dinoml_step_info;

typedef struct dinoml_open_options {
  int32_t deferred_constants;  // 0: map constants.safetensors now; 1: at load_constants
} dinoml_open_options;

typedef struct dinoml_session_options {
  int32_t threads;  // 0: one per physical core that this process may use
  int32_t debug;    // 1: poison the arena and the scratch before each run and check guard words after each step
} dinoml_session_options;

typedef struct dinoml_session_info {
  int32_t threads;
  int32_t debug;
  int64_t arena_bytes;  // what the session holds now
  int64_t scratch_bytes;
  int64_t state_bytes;
} dinoml_session_info;

typedef enum dinoml_operand_kind {
  dinoml_operand_null = 0,
  dinoml_operand_input = 1,
  dinoml_operand_output = 2,
  dinoml_operand_arena = 3,
  dinoml_operand_stored = 4,
  dinoml_operand_source = 5,
  dinoml_operand_state = 6,
  dinoml_operand_extent = 7
} dinoml_operand_kind;

typedef struct dinoml_operand_view {
  const char* name;  // tensor's or graph value's name
  void* data;
  int64_t bytes;
  int32_t kind;
  int32_t index;
  int32_t dtype;  // 0 where there is none
} dinoml_operand_view;

typedef struct dinoml_trace_event {
  const char* function;
  const char* kernel;
  const char* node;
  const char* source;
  const dinoml_operand_view* operands;
  int32_t n_operands;
  int32_t step;
} dinoml_trace_event;

// Called after each step. Returns 0 to go on; anything else ends the run with dinoml_aborted.
typedef int (*dinoml_trace_fn)(void* user, const dinoml_trace_event* event);

typedef struct dinoml_api {
  uint32_t version;  // DINOML_ABI_VERSION
  uint32_t bytes;    // sizeof(dinoml_api) of the module; a later version 1 module may append functions
  const char* (*last_error)(void);

  dinoml_status (*module_open)(const char* directory, const dinoml_open_options* options, dinoml_module** module);
  dinoml_status (*module_close)(dinoml_module* module);
  dinoml_status (*module_info)(const dinoml_module* module, dinoml_module_info* info);
  dinoml_status (*function_info)(const dinoml_module* module, int32_t function, dinoml_function_info* info);
  dinoml_status (*dim_info)(const dinoml_module* module, int32_t dim, dinoml_dim_info* info);
  dinoml_status (*tensor_info)(const dinoml_module* module, int32_t role, int32_t function, int32_t index, dinoml_tensor_info* info);
  dinoml_status (*step_info)(const dinoml_module* module, int32_t function, int32_t step, dinoml_step_info* info);

  // Constants. load maps the file again and drops replacements. set replaces named source constants: all is checked and computed
  // before anything changes; it waits for runs in progress. constant_loaded: whether all that depends on the source is there.
  dinoml_status (*load_constants)(dinoml_module* module);
  dinoml_status (*unload_constants)(dinoml_module* module);
  dinoml_status (*constant_loaded)(dinoml_module* module, int32_t source, int32_t* loaded);
  dinoml_status (*set_constants)(dinoml_module* module, const char* const* names, const dinoml_tensor* values, int32_t count);

  dinoml_status (*session_create)(dinoml_module* module, const dinoml_session_options* options, dinoml_session** session);
  dinoml_status (*session_destroy)(dinoml_session* session);
  dinoml_status (*session_info)(dinoml_session* session, dinoml_session_info* info);
  // Frees arena and scratch until the next run.
  dinoml_status (*session_trim)(dinoml_session* session);
  dinoml_status (*session_trace)(dinoml_session* session, dinoml_trace_fn callback, void* user);

  // shapes: the extents of all outputs, one output after the other. infer_shapes gives the capacity of extent axes,
  // output_shapes what the last run of the function produced (a smaller extent is the leading part of the buffer along that axis).
  dinoml_status (*infer_shapes)(dinoml_session* session, int32_t function, const dinoml_tensor* inputs, int32_t n_inputs, int64_t* shapes,
                                int32_t count);
  dinoml_status (*output_shapes)(dinoml_session* session, int32_t function, int64_t* shapes, int32_t count);
  dinoml_status (*run)(dinoml_session* session, int32_t function, const dinoml_tensor* inputs, int32_t n_inputs,
                       const dinoml_tensor* outputs, int32_t n_outputs);
  // run_ns: `iterations` wall times. step_ns: iterations * n_steps times, or NULL (timing each step costs a clock read per step).
  dinoml_status (*benchmark)(dinoml_session* session, int32_t function, const dinoml_tensor* inputs, int32_t n_inputs,
                             const dinoml_tensor* outputs, int32_t n_outputs, int32_t warmup, int32_t iterations, int64_t* run_ns,
                             int64_t* step_ns);

  // States. name NULL in state_reset: all of them.
  dinoml_status (*state_get)(dinoml_session* session, const char* name, const dinoml_tensor* destination);
  dinoml_status (*state_set)(dinoml_session* session, const char* name, const dinoml_tensor* source);
  dinoml_status (*state_reset)(dinoml_session* session, const char* name);
} dinoml_api;

// Returns NULL when the module does not speak that version.
typedef const dinoml_api* (*dinoml_get_api_fn)(uint32_t version);

static inline int64_t dinoml_dtype_bytes(int32_t dtype) {
  switch (dtype) {
    case dinoml_float64:
    case dinoml_int64: return 8;
    case dinoml_float32:
    case dinoml_int32: return 4;
    case dinoml_float16:
    case dinoml_bfloat16: return 2;
    case dinoml_bool:
    case dinoml_float8_e4m3:
    case dinoml_float8_e5m2:
    case dinoml_int8:
    case dinoml_uint8: return 1;
    default: return 0;
  }
}

static inline const char* dinoml_dtype_name(int32_t dtype) {
  switch (dtype) {
    case dinoml_float16: return "float16";
    case dinoml_float32: return "float32";
    case dinoml_int32: return "int32";
    case dinoml_int64: return "int64";
    case dinoml_bool: return "bool";
    case dinoml_bfloat16: return "bfloat16";
    case dinoml_float8_e4m3: return "float8_e4m3";
    case dinoml_float8_e5m2: return "float8_e5m2";
    case dinoml_float64: return "float64";
    case dinoml_int8: return "int8";
    case dinoml_uint8: return "uint8";
    default: return "unknown dtype";
  }
}

#ifdef __cplusplus
}
#endif

#endif  // DINOML_DINOML_H_
