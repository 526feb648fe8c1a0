// Y(b0, b1, m, n) = sum over k of A(b0, b1, m, k) * B(b0, b1, k, n), accumulated in float32, k in order (gemv over a
// Strided B that is contiguous along k: in 2 * lanes interleaved chains). Results do not depend on the number of workers.
//   A  Strided<S>, or a load accessor at (b0, b1, m, k), a vector along k
//   B  PackedB<S, NR>, PackedBPairs<NR>, Strided<S>, or a load accessor at (b0, b1, k, n), a vector along n
//   Y  store accessor at (b0, b1, m, n), a vector along n; runs once for each element
// P: form; MR, NR: register tile; MC: rows and NC: columns of a task; KC: slice of k. MR divides MC, NR divides NC, 16 divides KC.
// NR belongs to the packed constant; the forms of one NR read the same constant.
#pragma once
#include "gemm_skinny.h"

namespace dml::cpu {

enum class GemmForm { tile, skinny, gemv };

template <class B> constexpr bool in_pairs = same<typename Layout<B>::Word, Pair>;

// Bytes of scratch for each worker.
template <class P, class B> i64 gemm_scratch(const GemmDims& d) {
  if (P::form == GemmForm::tile) return TileScratch<P, B>(d).bytes();
  if (P::form == GemmForm::gemv && !in_pairs<B>) return gemv_scratch<P>(d);
  return SkinnyScratch<P, B>(d).bytes();
}

template <class P, class A, class B, class Y> int gemm(const dml_ctx& ctx, const GemmDims& d, A a, B b, Y y) {
  if (d.b0 <= 0 || d.b1 <= 0 || d.m <= 0 || d.n <= 0) return 0;
  if constexpr (P::form == GemmForm::tile)
    return gemm_tile<P>(ctx, d, a, b, y);
  else if constexpr (P::form == GemmForm::gemv && !in_pairs<B>)
    return gemv<P>(ctx, d, a, b, y);
  else
    return gemm_skinny<P>(ctx, d, a, b, y);
}

}  // namespace dml::cpu
