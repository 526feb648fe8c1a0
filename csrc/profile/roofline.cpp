// What the machine can do, measured like a candidate: two kernels whose arithmetic or traffic is known, on all workers.
#include "dinoml/math.h"
#include "dinoml/parallel.h"
#include "dinoml/vec.h"

namespace {
using namespace dml;
constexpr int width = native<float>, chains = 12;  // enough independent chains to hide the latency of an addition
}  // namespace

// n: items, steps of an item. 2 * chains * width operations a step; ptr[0] receives one vector per item.
extern "C" int dml_roofline_arithmetic(const dml_ctx* ctx, void* const* ptr, const int64_t* n) {
  float* out = static_cast<float*>(ptr[0]);
  const i64 steps = n[1];
  parallel(*ctx, n[0], 1, [&](i64 begin, i64 end, int) {
    for (i64 item = begin; item < end; item++) {
      Vec<float, width> sums[chains];
      const auto x = splat<width>(0.999999f + 1e-9f * float(item)), y = splat<width>(1e-6f);
      DML_UNROLL for (int c = 0; c < chains; c++) sums[c] = splat<width>(float(c));
      for (i64 s = 0; s < steps; s++) { DML_UNROLL for (int c = 0; c < chains; c++) sums[c] = madd(sums[c], x, y); }
      DML_UNROLL for (int c = 1; c < chains; c++) sums[0] = sums[0] + sums[c];
      store(Full<width>{}, out + item * width, to<float>(sums[0]));
    }
  });
  return 0;
}

// Copies n[0] floats from ptr[0] to ptr[1], past the caches.
extern "C" int dml_roofline_copy(const dml_ctx* ctx, void* const* ptr, const int64_t* n) {
  const float* from = static_cast<const float*>(ptr[0]);
  float* to_ = static_cast<float*>(ptr[1]);
  parallel(*ctx, n[0] / (4 * width), 1024, [&](i64 begin, i64 end, int) {
    for (i64 i = begin * 4 * width; i < end * 4 * width; i += 4 * width) {
      Raw<float, width> raw[4];
      DML_UNROLL for (int c = 0; c < 4; c++) raw[c] = load(Full<width>{}, from + i + c * width);
      DML_UNROLL for (int c = 0; c < 4; c++) store_stream(Full<width>{}, to_ + i + c * width, raw[c]);
    }
  });
  return 0;
}
