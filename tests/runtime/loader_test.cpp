// Exercises dinoml.hpp the way an embedding program would. Argument: the fixture artifact. Prints what failed.
#include <stdio.h>
#include <string.h>

#include <string>
#include <thread>
#include <vector>

#include "dinoml/dinoml.hpp"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

using dinoml::Tensor;

namespace {

int failures = 0;

void expect(bool condition, const char* what) {
  if (condition) return;
  printf("failed: %s\n", what);
  ++failures;
}

template <class Body> void expect_error(dinoml_status status, const char* words, Body&& body) {
  try {
    body();
    printf("failed: no error, expected \"%s\"\n", words);
    ++failures;
  } catch (const dinoml::Error& error) { expect(error.status() == status && strstr(error.what(), words), error.what()); }
}

std::vector<float> product(const std::vector<float>& x) {
  std::vector<float> y(x.size() / 8 * 3);
  for (size_t i = 0; i < y.size(); ++i) {
    y[i] = static_cast<float>(i % 3 + 1);
    for (size_t k = 0; k < 8; ++k) y[i] += x[i / 3 * 8 + k] * static_cast<float>(i % 3 * 8 + k) / 8;
  }
  return y;
}

bool holds(const Tensor& tensor, const std::vector<int64_t>& shape, const std::vector<float>& values) {
  return tensor.shape() == shape && memcmp(tensor.data<float>(), values.data(), values.size() * 4) == 0;
}

void values(dinoml::Module& module) {
  dinoml::Session session = module.create_session({2, 0});
  const std::vector<float> x(16, 2.5f);
  expect(holds(session.run({{"x", Tensor::from<float>({2, 8}, x)}}).at("y"), {2, 3}, product(x)), "main");
  const Tensor v = Tensor::from<float>({4}, {1, -1, 3, 0}), half = Tensor::from<float>({2}, {0, 0});
  expect(holds(session.run({{"v", v}, {"half", half}}, "pick").at("found"), {2}, {1, 3}), "extent");
  expect(session.benchmark({{"x", Tensor::from<float>({2, 8}, x)}}, 1, 5).size() == 5, "benchmark");
  module.set_constants({{"bias", Tensor::from<float>({3}, {0, 0, 0})}});
  expect(session.run({{"x", Tensor::from<float>({2, 8}, x)}}).at("y").data<float>()[0] == product(x)[0] - 1, "replaced constant");
  module.load_constants();
}

void errors(dinoml::Module& module, const std::string& path) {
  dinoml::Session session = module.create_session();
  const Tensor x = Tensor::from<float>({2, 8}, std::vector<float>(16));
  expect_error(dinoml_unknown_name, "input \"x\" is missing", [&] { session.run({}); });
  expect_error(dinoml_unknown_name, "no input \"z\"", [&] { session.run({{"x", x}, {"z", x}}); });
  expect_error(dinoml_dim_out_of_range, "allowed 1..4", [&] { session.run({{"x", Tensor::empty(dinoml_float32, {9, 8})}}); });
  expect_error(dinoml_index_error, "k_lookup", [&] { session.run({{"ids", Tensor::from<int64_t>({1}, {7})}}, "lookup"); });
  expect_error(dinoml_busy, "open sessions", [&] { module.close(); });
  expect_error(dinoml_damaged, "expected 12", [&] {
    dinoml::LoadOptions options;
    options.expected_digest = "12";
    dinoml::Module::load(path, options);
  });
  expect_error(dinoml_damaged, "not a DinoML artifact", [&] { dinoml::Module::load(path + "/none"); });
  dinoml::LoadOptions deferred;
  deferred.constants = dinoml::LoadOptions::Constants::deferred;
  deferred.verify = dinoml::Verify::full;
  dinoml::Module other = dinoml::Module::load(path, deferred);
  dinoml::Session late = other.create_session();
  expect_error(dinoml_constants_missing, "load_constants", [&] { late.run({{"x", x}}); });
  other.load_constants();
  late.run({{"x", x}});
}

// The C table itself, without the wrapper's checks.
void plain_c(const dinoml::Module& module) {
  const dinoml_api& api = module.api();
  expect(api.version == DINOML_ABI_VERSION && api.bytes == sizeof(dinoml_api), "table version");
  dinoml_session* session = nullptr;
  expect(api.session_create(module.handle(), nullptr, &session) == dinoml_ok, "session without options");
  expect(api.run(session, 0, nullptr, 0, nullptr, 0) == dinoml_bad_argument, "no inputs");
  expect(strstr(api.last_error(), "takes 1 inputs, got 0"), api.last_error());
  expect(api.run(nullptr, 0, nullptr, 0, nullptr, 0) == dinoml_bad_argument, "null session");
  expect(api.run(session, 99, nullptr, 0, nullptr, 0) == dinoml_unknown_name, "no such function");
  const int64_t shape[] = {2, 8}, output_shape[] = {2, 3};
  std::vector<float> x(17), y(6);
  dinoml_tensor input = {x.data(), shape, nullptr, 4, 2, dinoml_float32, dinoml_cpu, 0};
  dinoml_tensor output = {y.data(), output_shape, nullptr, 0, 2, dinoml_float32, dinoml_cpu, 0};
  x[1] = 8;
  expect(api.run(session, 0, &input, 1, &output, 1) == dinoml_ok && y[1] == 10, "byte offset");
  input.byte_offset = 2;
  expect(api.run(session, 0, &input, 1, &output, 1) == dinoml_not_contiguous, "misaligned");
  input.byte_offset = 0;
  input.device_type = dinoml_cuda;
  expect(api.run(session, 0, &input, 1, &output, 1) == dinoml_device_mismatch, "device");
  input.device_type = dinoml_cpu;
  input.data = nullptr;
  expect(api.run(session, 0, &input, 1, &output, 1) == dinoml_bad_argument, "no data");
  int64_t shapes[2];
  expect(api.infer_shapes(session, 0, &output, 1, shapes, 2) == dinoml_shape_mismatch, "shapes of a wrong input");
  expect(api.output_shapes(session, 0, shapes, 1) == dinoml_bad_argument, "room for one axis");
  expect(api.output_shapes(session, 0, shapes, 2) == dinoml_ok && shapes[1] == 3, "output shapes");
  dinoml_tensor_info info;
  expect(api.tensor_info(module.handle(), dinoml_role_state, 0, 1, &info) == dinoml_unknown_name, "no such state");
  expect(api.session_destroy(session) == dinoml_ok && api.session_destroy(nullptr) == dinoml_ok, "destroy");
}

// Kernels keep subnormals although the host flushes them, and the host gets its setting back.
void float_environment(const dinoml::Module& module) {
#if defined(__x86_64__)
  dinoml::Session session = module.create_session({2, 0});
  const unsigned before = _mm_getcsr(), flush = before | 0x8040;
  _mm_setcsr(flush);
  const Tensor y = session.run({{"x", Tensor::from<float>({1}, {1.2e-38f})}}, "halve").at("y");
  expect(_mm_getcsr() == flush, "the host's MXCSR is restored");
  _mm_setcsr(before);
  for (int i = 0; i < 64; ++i) expect(y.data<float>()[i] > 0, "subnormal results");
#endif
}

void many_threads(const dinoml::Module& module) {
  std::vector<std::thread> threads;
  std::vector<int> bad(4);
  for (int& wrong : bad)
    threads.emplace_back([&module, &wrong] {
      dinoml::Session session = module.create_session({2, 0});
      for (int i = 0; i < 50; ++i) {
        const std::vector<float> x(32, static_cast<float>(i));
        wrong += !holds(session.run({{"x", Tensor::from<float>({4, 8}, x)}}).at("y"), {4, 3}, product(x));
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const int wrong : bad) expect(wrong == 0, "threads");
}

}  // namespace

int main(int, char** argv) {
  for (int turn = 0; turn < 3; ++turn) {  // loads and unloads
    dinoml::Module module = dinoml::Module::load(argv[1]);
    values(module);
    errors(module, argv[1]);
    plain_c(module);
    float_environment(module);
    many_threads(module);
  }
  return failures == 0 ? 0 : 1;
}
