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
    double error = fabs(double(got) - want) / unit(want);
    if (!(error < 1e6)) error = 1e6;  // NaN or infinity where there should be none, or the other way round
    const unsigned long long said = (unsigned long long)(error * 1000) << 32 | uint32_t(i);
    most = said > most ? said : most;
  }
  atomicMax(worst, most);
}

#define FUNCTIONS(each)                                                                                             \
  each(exp, ::exp(x)) each(expm1, ::expm1(x)) each(log, ::log(x)) each(log1p, ::log1p(x)) each(log2, ::log2(x))     \
  each(tanh, ::tanh(x)) each(erf, ::erf(x)) each(sin, ::sin(x)) each(cos, ::cos(x)) each(sqrt, ::sqrt(x))           \
  each(rsqrt, 1 / ::sqrt(x)) each(rcp, 1 / x) each(sigmoid, x < 0 ? ::exp(x) / (1 + ::exp(x)) : 1 / (1 + ::exp(-x)))
#define ONE(name, text)                                                                                             \
  struct Of_##name {                                                                                                \
    static DML_FN Vec<float, 1> of(Vec<float, 1> x) { return dml::name(x); }                                        \
    static DML_FN double exact(double x) { return text; }                                                           \
  };
FUNCTIONS(ONE)
#undef ONE
}  // namespace

// Writes one word for each function: 1000 * error in the high half, the argument's bits in the low one.
extern "C" int dml_ulp(unsigned long long* worst, cudaStream_t stream) {
#define ONE(name, text) worst_of<Of_##name><<<1056, 256, 0, stream>>>(worst++);
  FUNCTIONS(ONE)
#undef ONE
  return int(cudaGetLastError());
}
#define ONE(name, text) #name " "
extern "C" const char* dml_ulp_names() { return FUNCTIONS(ONE); }
