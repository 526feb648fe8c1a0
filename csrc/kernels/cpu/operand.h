// Packed operands of matrix kernels; Strided is in dinoml/port.h.
#pragma once
#include "dinoml/vec.h"

namespace dml::cpu {

// Constant right operand of a GEMM, packed when the model is compiled. Per batch: ceil(n / NR) panels, each of k rows of NR
// adjacent columns; columns past n are zero. In NumPy: pad(n) -> reshape [k, n / NR, NR] -> transpose [n / NR, k, NR].
// p is 64-byte aligned; s0, s1: elements from one batch to the next.
template <class S, int NR> struct PackedB {
  const S* p;
  i64 s0, s1;
};

// Two values of neighbouring k.
struct Pair {
  bf16 even, odd;
};

// The same for the bf16 dot product: [n / NR, ceil(k / 2), NR, 2], an odd k padded with zeros. s0, s1 count pairs.
template <int NR> struct PackedBPairs {
  const Pair* p;
  i64 s0, s1;
};

}  // namespace dml::cpu
