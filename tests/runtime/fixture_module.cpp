// A module written by hand: one function per behaviour of the runtime that tests look at.
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "runtime/module_desc.h"

using namespace dinoml;

namespace {

// Dims: 0 batch, 1 even.
enum { kF32 = 2, kI64 = 4, kBf16 = 6 };

void report(const dml_ctx* ctx, uint32_t operand) { *ctx->error = uint32_t{dml_error_index} << 24 | operand; }

// t = x · w: ptr x, w, t; n rows, inner, columns.
int matmul(const dml_ctx* ctx, void* const* ptr, const int64_t* n) {
  struct Arg {
    const float *x, *w;
    float* t;
    int64_t inner, columns;
  } arg = {static_cast<const float*>(ptr[0]), static_cast<const float*>(ptr[1]), static_cast<float*>(ptr[2]), n[1], n[2]};
  ctx->parallel_for(
      ctx, n[0], 1,
      [](void* p, int64_t begin, int64_t end, int) {
        const Arg& a = *static_cast<const Arg*>(p);
        for (int64_t i = begin; i < end; ++i)
          for (int64_t j = 0; j < a.columns; ++j) {
            float sum = 0;
            for (int64_t k = 0; k < a.inner; ++k) sum += a.x[i * a.inner + k] * a.w[k * a.columns + j];
            a.t[i * a.columns + j] = sum;
          }
      },
      &arg);
  return 0;
}

// y = t + b: ptr t, b, y; n rows, columns.
int add_bias(const dml_ctx*, void* const* ptr, const int64_t* n) {
  const float *t = static_cast<const float*>(ptr[0]), *b = static_cast<const float*>(ptr[1]);
  float* y = static_cast<float*>(ptr[2]);
  for (int64_t i = 0; i < n[0] * n[1]; ++i) y[i] = t[i] + b[i % n[1]];
  return 0;
}

// counter += amount; total = counter.
int count(const dml_ctx*, void* const* ptr, const int64_t*) {
  int64_t* counter = static_cast<int64_t*>(ptr[1]);
  *counter += *static_cast<const int64_t*>(ptr[0]);
  *static_cast<int64_t*>(ptr[2]) = *counter;
  return 0;
}

// The positive elements, in order: ptr v, out, extent; n length.
int positives(const dml_ctx*, void* const* ptr, const int64_t* n) {
  const float* v = static_cast<const float*>(ptr[0]);
  float* out = static_cast<float*>(ptr[1]);
  int64_t& found = *static_cast<int64_t*>(ptr[2]);
  for (int64_t i = 0; i < n[0]; ++i)
    if (v[i] > 0) out[found++] = v[i];
  return 0;
}

// out[i] = table[ids[i]]: ptr ids, table, out; n count, size.
int lookup(const dml_ctx* ctx, void* const* ptr, const int64_t* n) {
  const int64_t* ids = static_cast<const int64_t*>(ptr[0]);
  for (int64_t i = 0; i < n[0]; ++i) {
    int64_t id = ids[i];
    if (id < 0 || id >= n[1]) {
      report(ctx, 0);
      id = 0;
    }
    static_cast<float*>(ptr[2])[i] = static_cast<const float*>(ptr[1])[id];
  }
  return 0;
}

int wait_ms(const dml_ctx*, void* const* ptr, const int64_t*) {
  const int64_t ms = *static_cast<const int64_t*>(ptr[0]);
  const timespec t = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&t, nullptr);
  *static_cast<int64_t*>(ptr[1]) = ms;
  return 0;
}

// 0: fine; 1: writes past the scratch; 2: fails; 3: leaves the arena unwritten.
int misbehave(const dml_ctx* ctx, void* const* ptr, const int64_t* n) {
  const int64_t how = *static_cast<const int64_t*>(ptr[0]);
  memset(ctx->scratch, 1, static_cast<size_t>(ctx->workers * n[0] + (how == 1 ? 1 : 0)));
  if (how != 3) memset(ptr[1], 0, 4);
  return how == 2 ? 7 : 0;
}

int copy_bytes(const dml_ctx*, void* const* ptr, const int64_t* n) {
  memcpy(ptr[1], ptr[0], static_cast<size_t>(n[0]));
  return 0;
}

// y = x / 2, once on the caller and once per worker: shows who flushes subnormals.
int halve(const dml_ctx* ctx, void* const* ptr, const int64_t*) {
  struct Arg {
    volatile float* x;
    float* y;
  } arg = {static_cast<volatile float*>(ptr[0]), static_cast<float*>(ptr[1])};
  ctx->parallel_for(
      ctx, 64, 1,
      [](void* p, int64_t begin, int64_t end, int) {
        const Arg& a = *static_cast<const Arg*>(p);
        const timespec moment = {0, 20000};
        nanosleep(&moment, nullptr);
        for (int64_t i = begin; i < end; ++i) a.y[i] = *a.x / 2;
      },
      &arg);
  return 0;
}

// Counts how often each item of [0, items) is visited: 4 loops, each with a loop inside; ptr out (int64[items]); n items, grain.
int loops(const dml_ctx* ctx, void* const* ptr, const int64_t* n) {
  struct Arg {
    const dml_ctx* ctx;
    int64_t *out, items, grain, wrong;
  } arg = {ctx, static_cast<int64_t*>(ptr[0]), n[0], n[1], 0};
  memset(arg.out, 0, static_cast<size_t>(n[0]) * 8);
  for (int turn = 0; turn < 4; ++turn)
    ctx->parallel_for(
        ctx, n[0], n[1],
        [](void* p, int64_t begin, int64_t end, int worker) {
          Arg& a = *static_cast<Arg*>(p);
          if (worker < 0 || worker >= a.ctx->workers || begin % a.grain != 0 || (end != a.items && (end - begin) % a.grain != 0))
            __atomic_store_n(&a.wrong, 1, __ATOMIC_RELAXED);
          struct Inner {
            int64_t *out, begin;
            int worker;
            bool wrong;
          } inner = {a.out, begin, worker, false};
          a.ctx->parallel_for(
              a.ctx, end - begin, 1,
              [](void* q, int64_t b, int64_t e, int w) {
                Inner& in = *static_cast<Inner*>(q);
                in.wrong = in.wrong || w != in.worker;
                for (int64_t i = b; i < e; ++i) ++in.out[in.begin + i];
              },
              &inner);
          if (inner.wrong) __atomic_store_n(&a.wrong, 1, __ATOMIC_RELAXED);
        },
        &arg);
  if (arg.wrong) return 1;
  return 0;
}

// Constant program: t = transpose(weight), merged = concat(a, b) scaled by 2 through the arena.
int transpose(const dml_ctx*, void* const* ptr, const int64_t* n) {
  for (int64_t i = 0; i < n[0]; ++i)
    for (int64_t j = 0; j < n[1]; ++j) static_cast<float*>(ptr[1])[j * n[0] + i] = static_cast<const float*>(ptr[0])[i * n[1] + j];
  return 0;
}

int concat(const dml_ctx*, void* const* ptr, const int64_t*) {
  memcpy(ptr[2], ptr[0], 8);
  memcpy(static_cast<char*>(ptr[2]) + 8, ptr[1], 8);
  return 0;
}

int twice(const dml_ctx*, void* const* ptr, const int64_t*) {
  for (int i = 0; i < 4; ++i) static_cast<float*>(ptr[1])[i] = 2 * static_cast<const float*>(ptr[0])[i];
  return 0;
}

constexpr AxisDesc fixed(int64_t n) { return {AxisDesc::fixed, n, -1}; }
constexpr AxisDesc dim(int64_t i) { return {AxisDesc::dim, i, -1}; }
constexpr AxisDesc computed(int64_t i) { return {AxisDesc::computed, i, -1}; }

const AxisDesc axes_x[] = {dim(0), fixed(8)}, axes_y[] = {dim(0), fixed(3)}, axes_one[] = {fixed(1)}, axes_batch[] = {dim(0)},
               axes_even[] = {dim(1)};
const AxisDesc axes_half[] = {computed(4)}, axes_w[] = {fixed(8), fixed(3)}, axes_weight[] = {fixed(3), fixed(8)},
               axes_three[] = {fixed(3)};
const AxisDesc axes_two[] = {fixed(2)}, axes_four[] = {fixed(4)}, axes_found[] = {{AxisDesc::extent, 3, 0}}, axes_64[] = {fixed(64)},
               axes_1000[] = {fixed(1000)};

// Integers of all functions.
enum {
  iBatch,
  iEight,
  iThree,
  iEven,
  iHalf,
  iBatch8,
  iBatch3,
  iEven4,
  iSmall,
  iOne,
  iFour,
  iBatch2,
  iHalf4,
  iItems,
  iGrain,
  iScratch,
  iBytes256,
  iBytes8000,
  nInts
};
void eval(const int64_t* d, int64_t* i) {
  i[iBatch] = d[0], i[iEight] = 8, i[iThree] = 3, i[iEven] = d[1], i[iHalf] = d[1] / 2, i[iBatch8] = d[0] * 32, i[iBatch3] = d[0] * 12;
  i[iEven4] = d[1] * 4, i[iSmall] = d[0] <= 2, i[iOne] = 1, i[iFour] = 4, i[iBatch2] = d[0] * 2, i[iHalf4] = d[1] * 2;
  i[iItems] = 1000, i[iGrain] = 7, i[iScratch] = 64, i[iBytes256] = 256, i[iBytes8000] = 8000;
}

constexpr Operand in(int32_t i) { return {Operand::input, i}; }
constexpr Operand out(int32_t i) { return {Operand::output, i}; }
constexpr Operand arena(int32_t i) { return {Operand::arena, i}; }
constexpr Operand stored(int32_t i) { return {Operand::stored, i}; }
constexpr Operand source(int32_t i) { return {Operand::source, i}; }

const char* const kernels[] = {"k_matmul_small", "k_matmul", "k_add_bias", "k_count", "k_positives", "k_lookup", "k_wait",
                               "k_misbehave",    "k_copy",   "k_halve",    "k_loops", "k_transpose", "k_concat", "k_twice"};

// main: y = x · w + b, the product in the arena, two variants of the first step.
const int32_t matmul_ints[] = {iBatch, iEight, iThree}, bias_ints[] = {iBatch, iThree};
const Operand matmul_operands[] = {in(0), stored(0), arena(0)}, bias_operands[] = {arena(0), stored(1), out(0)};
const VariantDesc matmul_variants[] = {{iSmall, matmul, 0, -1, matmul_ints, 3, matmul_operands, 3},
                                       {-1, matmul, 1, -1, matmul_ints, 3, matmul_operands, 3}};
const VariantDesc bias_variants[] = {{-1, add_bias, 2, -1, bias_ints, 2, bias_operands, 3}};
const StepDesc main_steps[] = {{"matmul_0", "model.py:11", matmul_variants, 2}, {"add_1", "model.py:12", bias_variants, 1}};
const TensorDesc main_inputs[] = {{"x", kF32, 2, axes_x, iBatch8, 0}}, main_outputs[] = {{"y", kF32, 2, axes_y, iBatch3, 0}};
const BufferDesc main_buffers[] = {{"product", iBatch3, kF32}};
const int64_t upper_small[] = {2, 8}, upper_large[] = {4, 8}, offsets_small[] = {0}, offsets_large[] = {64};
const ArenaPlan main_plans[] = {{upper_small, offsets_small, 64}, {upper_large, offsets_large, 128}};

const Operand count_operands[] = {in(0), {Operand::state, 0}, out(0)};
const VariantDesc count_variants[] = {{-1, count, 3, -1, nullptr, 0, count_operands, 3}};
const StepDesc count_steps[] = {{"count_0", "", count_variants, 1}};
const TensorDesc count_inputs[] = {{"amount", kI64, 1, axes_one, -1, 8}}, count_outputs[] = {{"total", kI64, 1, axes_one, -1, 8}};

const int32_t pick_ints[] = {iEven};
const Operand pick_operands[] = {in(0), out(0), {Operand::extent, 0}};
const VariantDesc pick_variants[] = {{-1, positives, 4, -1, pick_ints, 1, pick_operands, 3}};
const StepDesc pick_steps[] = {{"pick_0", "", pick_variants, 1}};
const TensorDesc pick_inputs[] = {{"v", kF32, 1, axes_even, iEven4, 0}, {"half", kF32, 1, axes_half, iHalf4, 0}};
const TensorDesc pick_outputs[] = {{"found", kF32, 1, axes_found, iEven4, 0}};

const int32_t lookup_ints[] = {iBatch, iFour};
const Operand lookup_operands[] = {in(0), stored(2), out(0)};
const VariantDesc lookup_variants[] = {{-1, lookup, 5, -1, lookup_ints, 2, lookup_operands, 3}};
const StepDesc lookup_steps[] = {{"lookup_0", "model.py:21", lookup_variants, 1}};
const TensorDesc lookup_inputs[] = {{"ids", kI64, 1, axes_batch, -1, 0}}, lookup_outputs[] = {{"values", kF32, 1, axes_batch, -1, 0}};

const Operand wait_operands[] = {in(0), out(0)};
const VariantDesc wait_variants[] = {{-1, wait_ms, 6, -1, nullptr, 0, wait_operands, 2}};
const StepDesc wait_steps[] = {{"wait_0", "", wait_variants, 1}};
const TensorDesc wait_inputs[] = {{"ms", kI64, 1, axes_one, -1, 8}}, wait_outputs[] = {{"waited", kI64, 1, axes_one, -1, 8}};

const int32_t misbehave_ints[] = {iScratch}, four_ints[] = {iFour};
const Operand misbehave_operands[] = {in(0), arena(0)}, result_operands[] = {arena(0), out(0)};
const VariantDesc misbehave_variants[] = {{-1, misbehave, 7, iScratch, misbehave_ints, 1, misbehave_operands, 2}};
const VariantDesc result_variants[] = {{-1, copy_bytes, 8, -1, four_ints, 1, result_operands, 2}};
const StepDesc misbehave_steps[] = {{"bad_0", "model.py:31", misbehave_variants, 1}, {"copy_1", "model.py:32", result_variants, 1}};
const TensorDesc misbehave_inputs[] = {{"how", kI64, 1, axes_one, -1, 8}}, misbehave_outputs[] = {{"result", kF32, 1, axes_one, -1, 4}};
const BufferDesc misbehave_buffers[] = {{"value", iFour, kF32}};

const int32_t copy_ints[] = {iBatch2};
const Operand copy_operands[] = {in(0), out(0)};
const VariantDesc copy_variants[] = {{-1, copy_bytes, 8, -1, copy_ints, 1, copy_operands, 2}};
const StepDesc copy_steps[] = {{"copy_0", "", copy_variants, 1}};
const TensorDesc copy_inputs[] = {{"h", kBf16, 1, axes_batch, iBatch2, 0}}, copy_outputs[] = {{"same", kBf16, 1, axes_batch, iBatch2, 0}};

const Operand halve_operands[] = {in(0), out(0)};
const VariantDesc halve_variants[] = {{-1, halve, 9, -1, nullptr, 0, halve_operands, 2}};
const StepDesc halve_steps[] = {{"halve_0", "", halve_variants, 1}};
const TensorDesc halve_inputs[] = {{"x", kF32, 1, axes_one, -1, 4}}, halve_outputs[] = {{"y", kF32, 1, axes_64, iBytes256, 256}};

const int32_t loop_ints[] = {iItems, iGrain};
const Operand loop_operands[] = {out(0)};
const VariantDesc loop_variants[] = {{-1, loops, 10, -1, loop_ints, 2, loop_operands, 1}};
const StepDesc loop_steps[] = {{"loops_0", "", loop_variants, 1}};
const TensorDesc loop_outputs[] = {{"visits", kI64, 1, axes_1000, iBytes8000, 8000}};

const FunctionDesc functions[] = {
    {"main", main_inputs, 1, main_outputs, 1, nInts, eval, main_buffers, 1, main_plans, 2, main_steps, 2, 0},
    {"count", count_inputs, 1, count_outputs, 1, nInts, eval, nullptr, 0, nullptr, 0, count_steps, 1, 0},
    {"pick", pick_inputs, 2, pick_outputs, 1, nInts, eval, nullptr, 0, nullptr, 0, pick_steps, 1, 1},
    {"lookup", lookup_inputs, 1, lookup_outputs, 1, nInts, eval, nullptr, 0, nullptr, 0, lookup_steps, 1, 0},
    {"wait", wait_inputs, 1, wait_outputs, 1, nInts, eval, nullptr, 0, nullptr, 0, wait_steps, 1, 0},
    {"misbehave", misbehave_inputs, 1, misbehave_outputs, 1, nInts, eval, misbehave_buffers, 1, main_plans + 1, 1, misbehave_steps, 2, 0},
    {"copy", copy_inputs, 1, copy_outputs, 1, nInts, eval, nullptr, 0, nullptr, 0, copy_steps, 1, 0},
    {"halve", halve_inputs, 1, halve_outputs, 1, nInts, eval, nullptr, 0, nullptr, 0, halve_steps, 1, 0},
    {"loops", nullptr, 0, loop_outputs, 1, nInts, eval, nullptr, 0, nullptr, 0, loop_steps, 1, 0},
};

const DimDesc dims[] = {{"batch", 1, 4, 1}, {"even", 2, 8, 2}};
const StoredConstantDesc stored_constants[] = {
    {{"weight_t", kF32, 2, axes_w, -1, 96}}, {{"bias", kF32, 1, axes_three, -1, 12}}, {{"table", kF32, 1, axes_four, -1, 16}}};
const SourceConstantDesc source_constants[] = {{{"weight", kF32, 2, axes_weight, -1, 96}, -1},
                                               {{"bias", kF32, 1, axes_three, -1, 12}, 1},
                                               {{"a", kF32, 1, axes_two, -1, 8}, -1},
                                               {{"b", kF32, 1, axes_two, -1, 8}, -1}};
const StateDesc states[] = {{{"counter", kI64, 1, axes_one, -1, 8}}};

const int32_t transpose_ints[] = {iThree, iEight};
const Operand transpose_operands[] = {source(0), stored(0)}, concat_operands[] = {source(2), source(3), arena(0)},
              twice_operands[] = {arena(0), stored(2)};
const VariantDesc transpose_variants[] = {{-1, transpose, 11, -1, transpose_ints, 2, transpose_operands, 2}};
const VariantDesc concat_variants[] = {{-1, concat, 12, -1, nullptr, 0, concat_operands, 3}};
const VariantDesc twice_variants[] = {{-1, twice, 13, -1, nullptr, 0, twice_operands, 2}};
const StepDesc constant_steps[] = {
    {"transpose_0", "", transpose_variants, 1}, {"concat_1", "", concat_variants, 1}, {"twice_2", "", twice_variants, 1}};
const BufferDesc constant_buffers[] = {{"joined", iScratch, kF32}};
const FunctionDesc constant_program = {"constants", nullptr,    0, nullptr,        0, nInts, eval, constant_buffers,
                                       1,           main_plans, 2, constant_steps, 3, 0};

}  // namespace

extern "C" const ModuleDesc dinoml_module_desc = {
    1,       "fixture", "cpu",     "sse3", "fixture-digest", dims, 2, stored_constants, 3, source_constants, 4, states, 1,
    kernels, 14,        functions, 9,      &constant_program};
