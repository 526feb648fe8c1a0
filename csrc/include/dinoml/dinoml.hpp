// Loading and running artifacts from C++17, header-only: link with -ldl on systems that need it.
//
//   dinoml::Module module = dinoml::Module::load("linear.dinoml");
//   dinoml::Session session = module.create_session();
//   std::map<std::string, dinoml::Tensor> outputs = session.run({{"x", dinoml::Tensor::from<float>({3, 8}, values)}});
//
// Failures throw dinoml::Error with a status. A Module may be shared between threads; a Session serves one thread at a time.
#pragma once
#include <dlfcn.h>
#include <stdlib.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dinoml/artifact.hpp"

namespace dinoml {

template <class T> struct DTypeOf;
template <> struct DTypeOf<float> { static constexpr int32_t value = dinoml_float32; };
template <> struct DTypeOf<double> { static constexpr int32_t value = dinoml_float64; };
template <> struct DTypeOf<int32_t> { static constexpr int32_t value = dinoml_int32; };
template <> struct DTypeOf<int64_t> { static constexpr int32_t value = dinoml_int64; };
template <> struct DTypeOf<bool> { static constexpr int32_t value = dinoml_bool; };
template <> struct DTypeOf<int8_t> { static constexpr int32_t value = dinoml_int8; };
template <> struct DTypeOf<uint8_t> { static constexpr int32_t value = dinoml_uint8; };

// A contiguous host tensor that shares ownership of its memory.
class Tensor {
 public:
  Tensor() = default;

  static Tensor empty(int32_t dtype, std::vector<int64_t> shape) {
    Tensor out;
    out.dtype_ = dtype;
    out.shape_ = std::move(shape);
    void* memory = nullptr;
    if (posix_memalign(&memory, 64, out.bytes() > 0 ? static_cast<size_t>(out.bytes()) : 1) != 0) throw std::bad_alloc();
    out.data_ = std::shared_ptr<void>(memory, free);
    return out;
  }
  template <class T> static Tensor from(std::vector<int64_t> shape, const std::vector<T>& values) {
    Tensor out = empty(DTypeOf<T>::value, std::move(shape));
    if (static_cast<int64_t>(values.size() * sizeof(T)) != out.bytes())
      throw Error(dinoml_shape_mismatch, "Tensor::from got " + std::to_string(values.size()) + " values for another shape");
    if (!values.empty()) memcpy(out.data_.get(), values.data(), values.size() * sizeof(T));
    return out;
  }

  int32_t dtype() const { return dtype_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  void* raw() const { return data_.get(); }
  template <class T> T* data() const {
    if (dtype_ != DTypeOf<T>::value) throw Error(dinoml_dtype_mismatch, std::string("the tensor holds ") + dinoml_dtype_name(dtype_));
    return static_cast<T*>(data_.get());
  }
  int64_t bytes() const {
    int64_t n = dinoml_dtype_bytes(dtype_);
    for (const int64_t extent : shape_) n *= extent;
    return n;
  }
  dinoml_tensor view() const {
    return {data_.get(), shape_.data(), nullptr, 0, static_cast<int32_t>(shape_.size()), dtype_, dinoml_cpu, 0};
  }
  // The leading part of each axis, as run-time extents ask for; a copy.
  Tensor leading(const std::vector<int64_t>& extents) const {
    if (extents == shape_) return *this;
    Tensor out = empty(dtype_, extents);
    copy_leading(out, 0, 0, 0);
    return out;
  }

 private:
  void copy_leading(Tensor& out, size_t axis, int64_t from, int64_t to) const {
    const size_t size = static_cast<size_t>(dinoml_dtype_bytes(dtype_));
    if (out.bytes() == 0) return;
    if (axis + 1 >= shape_.size()) {
      const size_t n = axis < shape_.size() ? static_cast<size_t>(out.shape_[axis]) : 1;
      memcpy(static_cast<char*>(out.raw()) + static_cast<size_t>(to) * size,
             static_cast<const char*>(raw()) + static_cast<size_t>(from) * size, n * size);
      return;
    }
    for (int64_t i = 0; i < out.shape_[axis]; ++i)
      copy_leading(out, axis + 1, (from + i) * shape_[axis + 1], (to + i) * out.shape_[axis + 1]);
  }

  int32_t dtype_ = dinoml_float32;
  std::vector<int64_t> shape_ = {0};
  std::shared_ptr<void> data_;
};

struct LoadOptions {
  enum class Constants { manifest, eager, deferred };
  Constants constants = Constants::manifest;  // manifest: as the artifact says
  Verify verify = Verify::fast;
  std::string expected_digest;  // of the artifact; empty: not compared
};

using SessionOptions = dinoml_session_options;

namespace detail {

// One loaded module.so and its module; sessions share it.
class Library {
 public:
  Library(const std::string& directory, const std::string& wanted_digest, bool deferred) {
    const std::string path = directory + "/module.so";
    handle_ = dlopen(unused_name(directory).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle_) throw Error(dinoml_damaged, path + ": cannot be loaded: " + dlerror());
    const auto get = reinterpret_cast<dinoml_get_api_fn>(dlsym(handle_, "dinoml_get_api"));
    api_ = get ? get(DINOML_ABI_VERSION) : nullptr;
    try {
      if (!get) throw Error(dinoml_damaged, path + ": does not export dinoml_get_api");
      if (!api_) throw Error(dinoml_unsupported_version, path + ": does not speak ABI version " + std::to_string(DINOML_ABI_VERSION));
      const dinoml_open_options options = {deferred ? 1 : 0};
      check(api_->module_open(directory.c_str(), &options, &module_));
      dinoml_module_info info;
      check(api_->module_info(module_, &info));
      if (wanted_digest != info.digest) damaged(path, "it belongs to another manifest (module_digest differs)");
    } catch (...) {
      if (module_) api_->module_close(module_);
      dlclose(handle_);
      throw;
    }
  }
  ~Library() {
    if (module_) api_->module_close(module_);
    dlclose(handle_);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  const dinoml_api& api() const { return *api_; }
  dinoml_module* module() const {
    if (!module_) throw Error(dinoml_closed, "the module is closed");
    return module_;
  }
  void close() {
    if (!module_) return;
    check(api_->module_close(module_));
    module_ = nullptr;
  }
  void check(dinoml_status status) const {
    if (status != dinoml_ok) throw Error(status, api_->last_error());
  }

 private:
  // dlopen returns what it already has under the same name, even if the file has been replaced since. So a name
  // in use gets another spelling of the same path; the same file is still recognised by its inode.
  static std::string unused_name(const std::string& directory) {
    static std::atomic<unsigned> loads{0};
    std::string name = directory + "/module.so";
    if (void* loaded = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD)) {
      dlclose(loaded);
      name = directory + "/";
      for (unsigned n = ++loads; n > 0; n >>= 1) name += n & 1 ? ".//" : "./";
      name += "module.so";
    }
    return name;
  }

  void* handle_ = nullptr;
  const dinoml_api* api_ = nullptr;
  dinoml_module* module_ = nullptr;
};

}  // namespace detail

class Session;

class Module {
 public:
  // Checks versions, CPU features and digests before any code of the artifact runs. Throws Error.
  static Module load(const std::string& directory, const LoadOptions& options = {}) {
    Module out;
    out.directory_ = directory;
    out.verify_ = options.verify;
    out.manifest_ = std::make_shared<const Manifest>(read_manifest(directory));
    const Manifest& manifest = *out.manifest_;
    if (!options.expected_digest.empty() && options.expected_digest != manifest.digest)
      throw Error(dinoml_damaged, directory + ": the artifact's digest is " + manifest.digest + ", expected " + options.expected_digest);
    check_cpu(manifest, directory);
    const bool deferred = options.constants == LoadOptions::Constants::manifest ? manifest.deferred_constants
                                                                                : options.constants == LoadOptions::Constants::deferred;
    verify_files(directory, manifest, options.verify, !deferred);
    out.library_ = std::make_shared<detail::Library>(directory, manifest.module_digest, deferred);
    return out;
  }

  Session create_session(const SessionOptions& options = {0, 0}) const;

  const std::string& directory() const { return directory_; }
  const Manifest& manifest() const { return *manifest_; }
  const dinoml_api& api() const { return library_->api(); }
  dinoml_module* handle() const { return library_->module(); }
  void check(dinoml_status status) const { library_->check(status); }

  // Fails with dinoml_busy while sessions are open. Happens by itself with the last Module and Session.
  void close() { library_->close(); }

  // Checks the file again, because deferred constants were not checked at load.
  void load_constants() {
    for (const FileRecord& record : manifest().files)
      if (record.name == kConstantsFile) verify_file(directory_, record, verify_);
    check(api().load_constants(handle()));
  }
  void unload_constants() { check(api().unload_constants(handle())); }
  void set_constants(const std::map<std::string, Tensor>& values) {
    std::vector<const char*> names;
    std::vector<dinoml_tensor> views;
    for (const auto& [name, tensor] : values) {
      names.push_back(name.c_str());
      views.push_back(tensor.view());
    }
    check(api().set_constants(handle(), names.data(), views.data(), static_cast<int32_t>(names.size())));
  }

  dinoml_module_info info() const {
    dinoml_module_info out;
    check(api().module_info(handle(), &out));
    return out;
  }
  dinoml_function_info function(int32_t index) const {
    dinoml_function_info out;
    check(api().function_info(handle(), index, &out));
    return out;
  }
  dinoml_tensor_info tensor(dinoml_role role, int32_t function, int32_t index) const {
    dinoml_tensor_info out;
    check(api().tensor_info(handle(), role, function, index, &out));
    return out;
  }
  // Without a name: the only function, or "main".
  int32_t find_function(const std::string& name = "") const {
    const int32_t count = info().n_functions;
    if (name.empty() && count == 1) return 0;
    const std::string wanted = name.empty() ? "main" : name;
    std::string known;
    for (int32_t i = 0; i < count; ++i) {
      if (wanted == function(i).name) return i;
      known += (i ? ", " : "") + std::string(function(i).name);
    }
    throw Error(dinoml_unknown_name, "there is no function \"" + wanted + "\"; the module has: " + known);
  }

 private:
  std::string directory_;
  Verify verify_ = Verify::fast;
  std::shared_ptr<const Manifest> manifest_;
  std::shared_ptr<detail::Library> library_;
};

class Session {
 public:
  Session(const Module& module, const SessionOptions& options) : module_(module) {
    module_.check(module_.api().session_create(module_.handle(), &options, &session_));
  }
  ~Session() {
    if (session_) module_.api().session_destroy(session_);
  }
  Session(Session&& other) noexcept : module_(other.module_), session_(other.session_) { other.session_ = nullptr; }
  Session& operator=(Session&&) = delete;

  const Module& module() const { return module_; }
  dinoml_session* handle() const {
    if (!session_) throw Error(dinoml_closed, "the session is closed");
    return session_;
  }
  // Fails with dinoml_busy while a run is in progress.
  void close() {
    if (!session_) return;
    module_.check(module_.api().session_destroy(session_));
    session_ = nullptr;
  }

  // Runs with fresh outputs. Throws Error that names a missing or unknown input.
  std::map<std::string, Tensor> run(const std::map<std::string, Tensor>& inputs, const std::string& function = "") {
    const Call call = prepare(inputs, function);
    module_.check(
        module_.api().run(handle(), call.function, call.inputs.data(), size(call.inputs), call.outputs.data(), size(call.outputs)));
    std::vector<int64_t> actual(call.shapes.size());
    module_.check(module_.api().output_shapes(handle(), call.function, actual.data(), size(actual)));
    std::map<std::string, Tensor> out;
    size_t at = 0;
    for (size_t i = 0; i < call.tensors.size(); ++i) {
      const size_t ndim = call.tensors[i].shape().size();
      const auto begin = actual.begin() + static_cast<std::ptrdiff_t>(at);
      out.emplace(call.names[i], call.tensors[i].leading({begin, begin + static_cast<std::ptrdiff_t>(ndim)}));
      at += ndim;
    }
    return out;
  }

  // Wall time of each iteration in nanoseconds.
  std::vector<int64_t> benchmark(const std::map<std::string, Tensor>& inputs, int32_t warmup, int32_t iterations,
                                 const std::string& function = "") {
    const Call call = prepare(inputs, function);
    std::vector<int64_t> times(static_cast<size_t>(iterations));
    module_.check(module_.api().benchmark(handle(), call.function, call.inputs.data(), size(call.inputs), call.outputs.data(),
                                          size(call.outputs), warmup, iterations, times.data(), nullptr));
    return times;
  }

 private:
  struct Call {
    int32_t function = 0;
    std::vector<dinoml_tensor> inputs, outputs;
    std::vector<int64_t> shapes;
    std::vector<std::string> names;
    std::vector<Tensor> tensors;  // the outputs' memory
  };

  template <class T> static int32_t size(const std::vector<T>& values) { return static_cast<int32_t>(values.size()); }

  Call prepare(const std::map<std::string, Tensor>& inputs, const std::string& function) {
    Call call;
    call.function = module_.find_function(function);
    const dinoml_function_info info = module_.function(call.function);
    for (int32_t i = 0; i < info.n_inputs; ++i) {
      const char* name = module_.tensor(dinoml_role_input, call.function, i).name;
      const auto found = inputs.find(name);
      if (found == inputs.end()) throw Error(dinoml_unknown_name, std::string("input \"") + name + "\" is missing");
      call.inputs.push_back(found->second.view());
    }
    if (static_cast<int32_t>(inputs.size()) != info.n_inputs) refuse_unknown(inputs, call.function, info.n_inputs);
    std::vector<dinoml_tensor_info> outputs;
    size_t axes = 0;
    for (int32_t i = 0; i < info.n_outputs; ++i) {
      outputs.push_back(module_.tensor(dinoml_role_output, call.function, i));
      axes += static_cast<size_t>(outputs.back().ndim);
    }
    call.shapes.resize(axes);
    module_.check(
        module_.api().infer_shapes(handle(), call.function, call.inputs.data(), size(call.inputs), call.shapes.data(), size(call.shapes)));
    auto at = call.shapes.begin();
    for (const dinoml_tensor_info& output : outputs) {
      call.names.push_back(output.name);
      call.tensors.push_back(Tensor::empty(output.dtype, {at, at + output.ndim}));
      at += output.ndim;
    }
    for (const Tensor& tensor : call.tensors) call.outputs.push_back(tensor.view());
    return call;
  }

  void refuse_unknown(const std::map<std::string, Tensor>& inputs, int32_t function, int32_t n_inputs) const {
    for (const auto& [name, tensor] : inputs) {
      bool known = false;
      for (int32_t i = 0; i < n_inputs; ++i) known = known || name == module_.tensor(dinoml_role_input, function, i).name;
      if (!known) throw Error(dinoml_unknown_name, "there is no input \"" + name + "\"");
    }
  }

  Module module_;
  dinoml_session* session_ = nullptr;
};

inline Session Module::create_session(const SessionOptions& options) const { return Session(*this, options); }

}  // namespace dinoml
