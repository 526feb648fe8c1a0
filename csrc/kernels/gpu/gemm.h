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
  template <class L> static DML_FN auto value_of(const Op& x, L l, const Got<L::width>& g, i64 b0, i64 b1, i64 i, i64 j) {
    return x.eval(l, g, b0, b1, i, j);
  }
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

// One operand's part of a slice of k: I x J elements in vectors of W along j (Inner) or along i, dealt to the block's threads.
template <class Op, int I, int J, int W, bool Inner, Tail End, int Threads> struct Slice {
  static constexpr int vectors = I * J / W, each = (vectors + Threads - 1) / Threads, along = (Inner ? J : I) / W;
  typename Factor<Op>::template Got<W> got[each];

  struct Place { int i, j; };
  static DML_FN bool mine(int r) { return vectors % Threads == 0 || r * Threads + int(threadIdx.x) < vectors; }
  static DML_FN Place place(int r) {
    const int q = r * Threads + int(threadIdx.x), near = q % along * W, far = q / along;
    return Inner ? Place{far, near} : Place{near, far};
  }
  // fn(lanes) for as much of the vector at p as lies in the `i_left` x `j_left` elements that exist.
  template <class Fn> static DML_FN void within(Place p, i64 i_left, i64 j_left, Fn&& fn) {
    if (Inner ? p.i >= i_left : p.j >= j_left) return;
    at_column<W, End>(Inner ? p.j : p.i, Inner ? j_left : i_left, [&](auto l, i64) { fn(l); });
  }
  DML_FN void fetch(const Op& x, i64 k, Batch b, i64 i0, i64 j0, i64 i_end, i64 j_end) {
    DML_UNROLL for (int r = 0; r < each; r++) {
      const Place p = place(r);
      if (mine(r)) within(p, i_end - i0, j_end - j0, [&](auto l) { got[r] = Factor<Op>::fetch(x, l, k, b.b0, b.b1, i0 + p.i, j0 + p.j); });
    }
  }
  // Element (i, j) of the slice goes to slice[i * SI + j * SJ]; what does not exist is zero.
  template <int SI, int SJ> DML_FN void put(const Op& x, Batch b, i64 i0, i64 j0, i64 i_end, i64 j_end, float* slice) const {
    DML_UNROLL for (int r = 0; r < each; r++) {
      if (!mine(r)) continue;
      const Place p = place(r);
      Vec<float, W> v = splat<W>(0.f);
      within(p, i_end - i0, j_end - j0, [&](auto l) { v = keep(l, Factor<Op>::value_of(x, l, got[r], b.b0, b.b1, i0 + p.i, j0 + p.j), 0.f); });
      float* at = slice + p.i * SI + p.j * SJ;
      if constexpr ((Inner ? SJ : SI) == 1) store(Full<W>{}, at, to<float>(v));
      else DML_UNROLL for (int w = 0; w < W; w++) at[w * (Inner ? SJ : SI)] = v.v[w];
    }
  }
};

// Four neighbours for each group of a thread, groups Threads * 4 apart: run q of thread t is at (q / 4 * Threads + t) * 4 + q % 4.
template <int Count, int Threads> DML_FN void read_run(const float* from, int t, float (&to)[Count]) {
  DML_UNROLL for (int q = 0; q < Count; q += 4) {
    const auto four = value(load(Full<4>{}, from + (q / 4 * Threads + t) * 4));
    DML_UNROLL for (int i = 0; i < 4; i++) to[q + i] = four.v[i];
  }
}

template <class P, class A, class B, class Y>
__global__ void __launch_bounds__(P::threads, 2) gemm_kernel(GemmDims d, unsigned m_tiles, unsigned n_tiles, A a, B b, Y y) {
  constexpr int BM = P::BM, BN = P::BN, BK = P::BK, TM = P::TM, TN = P::TN, T = P::threads, tx = BN / TN, ty = BM / TM;
  constexpr int pm = BM + 4, pn = BN + 4;  // the rows of a slice start in different banks
  static_assert(tx * ty == T && TM % 4 == 0 && TN % 4 == 0, "a thread for each TM x TN");
  alignas(16) __shared__ float shared_a[2][BK * pm], shared_b[2][BK * pn];
  const Outer o = outer_of(blockIdx.x / n_tiles, d.b0, d.b1, m_tiles);
  const Batch batch{o.i0, o.i1};
  const i64 m0 = o.i2 * BM, n0 = i64(blockIdx.x % n_tiles) * BN;
  const int u = int(threadIdx.x) % tx, w = int(threadIdx.x) / tx;
  Slice<A, BM, BK, P::a_width, P::a_inner, P::a_tail, T> next_a;
  Slice<B, BK, BN, P::b_width, P::b_inner, P::b_tail, T> next_b;
  float acc[TM][TN];
  DML_UNROLL for (int i = 0; i < TM; i++) DML_UNROLL for (int j = 0; j < TN; j++) acc[i][j] = 0.f;
  auto fetch = [&](i64 k0) {
    next_a.fetch(a, d.k, batch, m0, k0, d.m, d.k);
    next_b.fetch(b, d.k, batch, k0, n0, d.k, d.n);
  };
  auto put = [&](i64 k0, int half) {
    next_a.template put<1, pm>(a, batch, m0, k0, d.m, d.k, shared_a[half]);
    next_b.template put<pn, 1>(b, batch, k0, n0, d.k, d.n, shared_b[half]);
  };
  fetch(0), put(0, 0);
  int half = 0;
  for (i64 k0 = 0; k0 < d.k; k0 += BK, half ^= 1) {
    __syncthreads();
    const bool more = k0 + BK < d.k;
    if (more) fetch(k0 + BK);
    _Pragma("unroll 2") for (int k = 0; k < BK; k++) {  // not all of it: the reads would be hoisted and spill
      float x[TM], z[TN];
      read_run<TM, ty>(shared_a[half] + k * pm, w, x);
      read_run<TN, tx>(shared_b[half] + k * pn, u, z);
      DML_UNROLL for (int i = 0; i < TM; i++) DML_UNROLL for (int j = 0; j < TN; j++) acc[i][j] = ::fmaf(x[i], z[j], acc[i][j]);
    }
    if (more) put(k0 + BK, half ^ 1);
  }
  constexpr int W = P::y_width;
  DML_UNROLL for (int i = 0; i < TM; i++) {
    const i64 m = m0 + (i / 4 * ty + w) * 4 + i % 4;
    if (m >= d.m) continue;
    auto each_run = [&](auto&& fn) {
      DML_UNROLL for (int j = 0; j < TN; j += W)
        at_column<W, P::y_tail>(n0 + (j / 4 * tx + u) * 4 + j % 4, d.n, [&](auto l, i64 n) { fn(l, j, n); });
    };
    typename Y::template Got<W> got[TN / W];
    each_run([&](auto l, int j, i64 n) { got[j / W] = y.fetch(l, batch.b0, batch.b1, m, n); });
    each_run([&](auto l, int j, i64 n) {
      y.put(l, got[j / W], batch.b0, batch.b1, m, n, make<float, W>([&](int q) { return acc[i][j + q]; }));
    });
  }
}

// P: BM, BN, BK: tile; TM, TN: accumulators of a thread; threads; a_width, b_width: elements of an access, along the last
// coordinate where a_inner or b_inner, otherwise along the one before; y_width: 1, 2 or 4; a_tail, b_tail, y_tail: whole where the
// extent along which they run is a multiple of the width, else ragged.
template <class P, class A, class B, class Y> int gemm(const dml_ctx& ctx, const GemmDims& d, A a, B b, Y y) {
  if (d.b0 <= 0 || d.b1 <= 0 || d.m <= 0 || d.n <= 0) return 0;
  const i64 m_tiles = ceil_div(d.m, P::BM), n_tiles = ceil_div(d.n, P::BN);
  if (m_tiles > 0x7fffffff || n_tiles > 0x7fffffff) return launch_too_large;
  return launch(ctx, gemm_kernel<P, A, B, Y>, d.b0 * d.b1 * m_tiles * n_tiles, P::threads, d, unsigned(m_tiles), unsigned(n_tiles), a, b, y);
}

}  // namespace dml::gpu
