// Y(b0, b1, m, n) = sum over k of A(b0, b1, m, k) * B(b0, b1, k, n), accumulated in float32, k in order: one chain of fused
// multiply-adds for each element, as on CPUs. The plain GEMM of every target: no tensor cores, any strides, any extents.
// Mapping: a block makes a BM x BN tile with (BM / TM) * (BN / TN) threads; a thread has TM x TN accumulators in groups of four,
// so that a warp reads shared memory in runs. Slices of BK lie in shared memory as float32, k slowest; while one is
// multiplied, the next is fetched into registers, then stored into the other half.
// Traffic: A is read n / BN times, B m / BM times (mostly from L2), Y and the operands of the epilogue once.
//   A  Strided<S>, or a load accessor at (b0, b1, m, k)
//   B  PackedB<S, NR>, Strided<S>, or a load accessor at (b0, b1, k, n)
//   Y  store accessor at (b0, b1, m, n), a vector along n; runs once for each element
#pragma once
#include "launch.h"

namespace dml::gpu {

struct GemmDims { i64 b0, b1, m, n, k; };

// Constant right operand in panels of NR columns (csrc/kernels/cpu/operand.h): per batch [ceil(n / NR), k, NR].
template <class S, int NR> struct PackedB { const S* p; i64 s0, s1; };

// How a tile reads an operand: the vector of L::width elements that starts at (i, j).
template <class Op> struct Factor {
  template <int W> using Got = typename Op::template Got<W>;
  template <class L> static DML_FN auto fetch(const Op& x, L l, i64, i64 b0, i64 b1, i64 i, i64 j) { return x.fetch(l, b0, b1, i, j); }
  template <class L> static DML_FN auto value_of(const Op& x, L l, const Got<L::width>& g, i64 b0, i64 b1, i64 i, i64 j) { return x.eval(l, g, b0, b1, i, j); }
};
template <class S> struct Factor<Strided<S>> {
  template <int W> using Got = Raw<S, W>;
  template <class L> static DML_FN auto fetch(const Strided<S>& x, L l, i64, i64 b0, i64 b1, i64 i, i64 j) {
    return load(l, x.p + (b0 * x.s0 + b1 * x.s1 + i * x.s2 + j * x.s3));
  }
  template <class L> static DML_FN auto value_of(const Strided<S>&, L, const Got<L::width>& g, i64, i64, i64, i64) { return value(g); }
};
template <class S, int NR> struct Factor<PackedB<S, NR>> {
  template <int W> using Got = Raw<S, W>;
  template <class L> static DML_FN auto fetch(const PackedB<S, NR>& x, L l, i64 k, i64 b0, i64 b1, i64 i, i64 j) {
    static_assert(NR % L::width == 0, "a vector lies in one panel");
    return load(l, x.p + (b0 * x.s0 + b1 * x.s1 + (j / NR * k + i) * NR + j % NR));
  }
  template <class L> static DML_FN auto value_of(const PackedB<S, NR>&, L, const Got<L::width>& g, i64, i64, i64, i64) { return value(g); }
};

struct Batch { i64 b0, b1; };
// One operand's part of a slice: I x J elements, in vectors of W along j (Inner) or along i, dealt to the block's threads.
template <class Op, int I, int J, int W, bool Inner, int Threads> struct Slice {
  static constexpr int vectors = I * J / W, each = (vectors + Threads - 1) / Threads, along = (Inner ? J : I) / W;
  typename Factor<Op>::template Got<W> got[each];

  // fn(lanes, r, i, j) for each vector of this thread that begins inside [.., i_end) x [.., j_end).
  template <class Fn> DML_FN void each_vector(i64 i0, i64 j0, i64 i_end, i64 j_end, Fn&& fn) {
    DML_UNROLL for (int r = 0; r < each; r++) {
      const int q = r * Threads + int(threadIdx.x), near = q % along * W, far = q / along;
      const i64 i = i0 + (Inner ? far : near), j = j0 + (Inner ? near : far);
      if (vectors % Threads != 0 && q >= vectors) continue;
      const i64 left = Inner ? j_end - j : i_end - i;
      if (Inner ? i >= i_end : j >= j_end) continue;
      if (left >= W) fn(Full<W>{}, r, i, j);
      else if (W > 1 && left > 0) fn(Part<W>{int(left)}, r, i, j);
    }
  }
  DML_FN void fetch(const Op& x, i64 k, Batch b, i64 i0, i64 j0, i64 i_end, i64 j_end) {
    each_vector(i0, j0, i_end, j_end, [&](auto l, int r, i64 i, i64 j) { got[r] = Factor<Op>::fetch(x, l, k, b.b0, b.b1, i, j); });
  }
  // Element (i, j) goes to to[(i - i0) * si + (j - j0) * sj]; elements outside are zero.
  template <int SI, int SJ> DML_FN void put(const Op& x, Batch b, i64 i0, i64 j0, i64 i_end, i64 j_end, float* to) {
    DML_UNROLL for (int r = 0; r < each; r++) {
      const int q = r * Threads + int(threadIdx.x), near = q % along * W, far = q / along;
      if (vectors % Threads == 0 || q < vectors) write<SI, SJ>(splat<W>(0.f), to + (Inner ? far * SI + near * SJ : near * SI + far * SJ), i0, j0, i_end, j_end, near, far);
    }
    each_vector(i0, j0, i_end, j_end, [&](auto l, int r, i64 i, i64 j) {
      const Vec<float, W> v = keep(l, Factor<Op>::value_of(x, l, got[r], b.b0, b.b1, i, j), 0.f);
      lay<SI, SJ>(v, to + int(i - i0) * SI + int(j - j0) * SJ);
    });
  }
};

}  // namespace dml::gpu
