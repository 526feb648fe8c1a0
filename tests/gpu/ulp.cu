// Largest error of the float32 functions over all 2^32 arguments, in units of the last place of the result, against double.
#include "dinoml/accessor.h"
#include "dinoml/kernel.h"

namespace {
using namespace dml;

DML_FN double unit(double want) {  // the last place of a float of this size, subnormal results included
  const int64_t exponent = (__double_as_longlong(fabs(want)) >> 52) - 1023;
  return __longlong_as_double(((exponent < -126 ? -126 : exponent) - 23 + 1023) << 52);
}

template <class F> __global__ void worst_of(unsigned long long* worst) {
  unsigned long long most = 0;
  for (uint64_t i = blockIdx.x * uint64_t(blockDim.x) + threadIdx.x; i < (uint64_t(1) << 32); i += uint64_t(gridDim.x) * blockDim.x) {
    const float x = __uint_as_float(uint32_t(i));
    const float got = lane<0>(F::of(splat<1>(x)));
    const double want = F::exact(double(x));
    const float rounded = float(want);
    if (got == rounded || (got != got && rounded != rounded)) continue;
    if (F::flushes && got == 0 && fabs(want) < 0x1p-125) continue;
    double error = fabs(double(got) - want) / unit(want);
    if (!(error < 1e6)) error = 1e6;  // NaN or infinity where there should be none, or the other way round
    const unsigned long long said = (unsigned long long)(error * 1000) << 32 | uint32_t(i);
    most = said > most ? said : most;
  }
  atomicMax(worst, most);
}

// name, bound in ulp (csrc/include/dinoml/math_gpu.h), whether results below 2^-126 are 0, the function in double
#define FUNCTIONS(each)                                                                                             \
  each(exp, 2, false, ::exp(x)) each(expm1, 1.6, false, ::expm1(x)) each(log, 1, false, ::log(x))                   \
  each(log1p, 1, false, ::log1p(x)) each(log2, 1, false, ::log2(x)) each(tanh, 2, false, ::tanh(x))                 \
  each(erf, 1.1, false, ::erf(x)) each(sin, 1.6, false, ::sin(x)) each(cos, 1.6, false, ::cos(x))                   \
  each(sqrt, 0.5, false, ::sqrt(x)) each(rsqrt, 1.6, false, 1 / ::sqrt(x)) each(rcp, 0.5, false, 1 / x)             \
  each(sigmoid, 4, true, x < 0 ? ::exp(x) / (1 + ::exp(x)) : 1 / (1 + ::exp(-x)))
#define ONE(name, bound, small, text)                                                                               \
  struct Of_##name {                                                                                                \
    static constexpr bool flushes = small;                                                                          \
    static DML_FN Vec<float, 1> of(Vec<float, 1> x) { return dml::name(x); }                                        \
    static DML_FN double exact(double x) { return text; }                                                           \
  };
FUNCTIONS(ONE)
#undef ONE
}  // namespace

// Writes one word for each function: 1000 * error in the high half, the argument's bits in the low one.
extern "C" int dml_ulp(unsigned long long* worst, cudaStream_t stream) {
#define ONE(name, bound, small, text) worst_of<Of_##name><<<1056, 256, 0, stream>>>(worst++);
  FUNCTIONS(ONE)
#undef ONE
  return int(cudaGetLastError());
}
#define ONE(name, bound, small, text) #name "=" #bound " "
extern "C" const char* dml_ulp_names() { return FUNCTIONS(ONE); }
