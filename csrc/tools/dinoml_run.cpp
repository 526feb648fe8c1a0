// dinoml-run: runs a function of an artifact on .npy files, without Python.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <algorithm>
#include <exception>
#include <map>
#include <string>
#include <vector>

#include "dinoml/dinoml.hpp"
#include "npy.hpp"

namespace {

constexpr const char* kUsage =
    "usage: dinoml-run ARTIFACT [options]\n"
    "  --function NAME      the function to run (default: the only one, or main)\n"
    "  --input NAME=FILE    an input as a .npy file; repeat it. Without any, the interface is printed\n"
    "  --constant NAME=FILE replace a source constant; repeat it\n"
    "  --output-dir DIR     write each output to DIR/NAME.npy\n"
    "  --threads N          default: one per physical core\n"
    "  --benchmark N        time N runs after 5 warm-up runs\n"
    "  --debug              check for kernels that write past their memory\n"
    "  --verify fast|full   full: SHA-256 of the constants too\n"
    "  --expected-digest D  refuse any other artifact\n";

struct Options {
  std::string artifact, function, output_dir;
  std::map<std::string, std::string> inputs, constants;
  dinoml::LoadOptions load;
  dinoml::SessionOptions session = {0, 0};
  int benchmark = 0;
};

[[noreturn]] void usage_error(const std::string& why) { throw dinoml::Error(dinoml_bad_argument, why + "\n" + kUsage); }

int positive(const std::string& option, const std::string& text) {
  char* end = nullptr;
  const long value = strtol(text.c_str(), &end, 10);
  if (text.empty() || *end != 0 || value < 1 || value > 1000000000) usage_error(option + " needs a positive number, got \"" + text + "\"");
  return static_cast<int>(value);
}

void add_pair(std::map<std::string, std::string>& pairs, const std::string& option, const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) usage_error(option + " needs NAME=FILE, got \"" + text + "\"");
  if (!pairs.emplace(text.substr(0, equals), text.substr(equals + 1)).second) usage_error(option + " " + text + ": given twice");
}

Options parse(int argc, char** argv) {
  Options out;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option.empty() || option[0] != '-') {
      if (!out.artifact.empty()) usage_error("two artifacts: " + out.artifact + " and " + option);
      out.artifact = option;
      continue;
    }
    if (option == "--debug") {
      out.session.debug = 1;
      continue;
    }
    if (i + 1 == argc) usage_error(option + " is unknown or needs a value");
    const std::string value = argv[++i];
    if (option == "--function")
      out.function = value;
    else if (option == "--input")
      add_pair(out.inputs, option, value);
    else if (option == "--constant")
      add_pair(out.constants, option, value);
    else if (option == "--output-dir")
      out.output_dir = value;
    else if (option == "--threads")
      out.session.threads = positive(option, value);
    else if (option == "--benchmark")
      out.benchmark = positive(option, value);
    else if (option == "--expected-digest")
      out.load.expected_digest = value;
    else if (option == "--verify" && value == "full")
      out.load.verify = dinoml::Verify::full;
    else if (option != "--verify" || value != "fast")
      usage_error("unknown option " + option + " " + value);
  }
  if (out.artifact.empty()) usage_error("no artifact");
  return out;
}

void print_tensors(const dinoml::Module& module, const char* title, dinoml_role role, int32_t function, int32_t count) {
  for (int32_t i = 0; i < count; ++i) {
    const dinoml_tensor_info info = module.tensor(role, function, i);
    std::string shape;
    for (int32_t a = 0; a < info.ndim; ++a) {
      if (a > 0) shape += ", ";
      dinoml_dim_info dim;
      if (info.axes[a].kind == dinoml_axis_fixed) {
        shape += std::to_string(info.axes[a].value);
      } else if (info.axes[a].kind == dinoml_axis_dim) {
        module.check(module.api().dim_info(module.handle(), static_cast<int32_t>(info.axes[a].value), &dim));
        shape += std::string(dim.name) + "(" + std::to_string(dim.min) + ".." + std::to_string(dim.max) + ")";
      } else {
        shape += "?";
      }
    }
    printf("  %s %s: %s[%s]\n", title, info.name, dinoml_dtype_name(info.dtype), shape.c_str());
  }
}

void print_interface(const dinoml::Module& module) {
  const dinoml_module_info info = module.info();
  printf("%s, target %s, digest %s\n", info.name, info.target, module.manifest().digest.c_str());
  for (int32_t f = 0; f < info.n_functions; ++f) {
    const dinoml_function_info function = module.function(f);
    printf("function %s (%d steps)\n", function.name, function.n_steps);
    print_tensors(module, "input", dinoml_role_input, f, function.n_inputs);
    print_tensors(module, "output", dinoml_role_output, f, function.n_outputs);
  }
  if (info.n_sources + info.n_states > 0) printf("module\n");
  print_tensors(module, "constant", dinoml_role_source, 0, info.n_sources);
  print_tensors(module, "state", dinoml_role_state, 0, info.n_states);
}

// The dtype of a named tensor, for .npy files that do not say it; 0 when there is no such name, which the run reports.
int32_t dtype_of(const dinoml::Module& module, dinoml_role role, int32_t function, int32_t count, const std::string& name) {
  for (int32_t i = 0; i < count; ++i) {
    const dinoml_tensor_info info = module.tensor(role, function, i);
    if (name == info.name) return info.dtype;
  }
  return 0;
}

std::map<std::string, dinoml::Tensor> read_all(const dinoml::Module& module, const std::map<std::string, std::string>& files,
                                               dinoml_role role, int32_t function, int32_t count) {
  std::map<std::string, dinoml::Tensor> out;
  for (const auto& [name, path] : files) out.emplace(name, dinoml::npy::read(path, dtype_of(module, role, function, count, name)));
  return out;
}

void print_times(std::vector<int64_t> ns) {
  std::sort(ns.begin(), ns.end());
  printf("%zu runs: median %.4f ms, min %.4f ms, max %.4f ms\n", ns.size(), static_cast<double>(ns[ns.size() / 2]) * 1e-6,
         static_cast<double>(ns.front()) * 1e-6, static_cast<double>(ns.back()) * 1e-6);
}

void run(const Options& options) {
  dinoml::Module module = dinoml::Module::load(options.artifact, options.load);
  const dinoml_module_info info = module.info();
  if (options.inputs.empty() && options.output_dir.empty() && options.benchmark == 0) return print_interface(module);
  if (!options.constants.empty()) module.set_constants(read_all(module, options.constants, dinoml_role_source, 0, info.n_sources));
  const int32_t function = module.find_function(options.function);
  const auto inputs = read_all(module, options.inputs, dinoml_role_input, function, module.function(function).n_inputs);
  dinoml::Session session = module.create_session(options.session);
  const std::map<std::string, dinoml::Tensor> outputs = session.run(inputs, options.function);
  if (!options.output_dir.empty() && mkdir(options.output_dir.c_str(), 0777) != 0 && errno != EEXIST)
    throw dinoml::Error(dinoml_io_error, options.output_dir + ": " + strerror(errno));
  for (const auto& [name, tensor] : outputs) {
    std::string shape;
    for (const int64_t extent : tensor.shape()) shape += (shape.empty() ? "" : ", ") + std::to_string(extent);
    printf("%s: %s[%s]\n", name.c_str(), dinoml_dtype_name(tensor.dtype()), shape.c_str());
    if (!options.output_dir.empty()) dinoml::npy::write(options.output_dir + "/" + name + ".npy", tensor);
  }
  if (options.benchmark > 0) print_times(session.benchmark(inputs, 5, options.benchmark, options.function));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
    fputs(kUsage, stdout);
    return 0;
  }
  try {
    run(parse(argc, argv));
    return 0;
  } catch (const dinoml::Error& error) {
    fprintf(stderr, "dinoml-run: %s\n", error.what());
    return error.status() == dinoml_bad_argument || error.status() == dinoml_unknown_name ? 2 : 1;
  } catch (const std::exception& error) {
    fprintf(stderr, "dinoml-run: %s\n", error.what());
    return 1;
  }
}
