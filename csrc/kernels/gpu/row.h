// What row kernels share: how the elements of a reduction are dealt to threads, and reductions over those threads.
// rows: the reduction runs along i3 and a row lives in the registers of a group of threads. long_rows: a block walks along one
// row and keeps it in scratch. columns: the reduction runs along i2, each lane is another result, and a block walks down
// its columns with scratch. A row in registers is read once and written once; scratch adds a write and two or three reads.
#pragma once
#include "launch.h"

namespace dml::gpu {

enum class Form { rows, long_rows, columns };

struct Sum {
  static constexpr float none = 0.f;
  static DML_FN float of(float a, float b) { return a + b; }
};
struct Max {  // passes NaN over
  static constexpr float none = -float_inf;
  static DML_FN float of(float a, float b) { return ::fmaxf(a, b); }
};
template <class R, int N> DML_FN Vec<float, N> combined(Vec<float, N> a, Vec<float, N> b) {
  return make<float, N>([&](int i) { return R::of(a.v[i], b.v[i]); });
}
template <class R, int N> DML_FN float over_lanes(Vec<float, N> v) {
  if constexpr (N == 1) return v.v[0];
  else return over_lanes<R>(combined<R>(low(v), high(v)));
}

// K values reduced over a group of G neighbouring threads; all of them get the same bits. G > 32 means the whole block, and
// `shared` has 32 * K floats that no other reduction since the last barrier has used.
template <class R, int G, int K> DML_FN void group_reduce(float (&v)[K], float* shared) {
  constexpr int inner = G < 32 ? G : 32;
  DML_UNROLL for (int m = inner / 2; m > 0; m /= 2)
    DML_UNROLL for (int k = 0; k < K; k++) v[k] = R::of(v[k], shuffle_xor(v[k], m, inner));
  if constexpr (G > 32) {
    constexpr int warps = G / 32;
    if (threadIdx.x % 32 == 0)
      DML_UNROLL for (int k = 0; k < K; k++) shared[k * 32 + threadIdx.x / 32] = v[k];
    __syncthreads();
    DML_UNROLL for (int k = 0; k < K; k++) {
      if constexpr (warps <= 8) {
        v[k] = shared[k * 32];
        DML_UNROLL for (int w = 1; w < warps; w++) v[k] = R::of(v[k], shared[k * 32 + w]);
      } else {
        v[k] = shared[k * 32 + threadIdx.x % warps];
        DML_UNROLL for (int m = warps / 2; m > 0; m /= 2) v[k] = R::of(v[k], shuffle_xor(v[k], m, warps));
      }
    }
  }
}
template <class R, int G> DML_FN float group_reduce(float v, float* shared) {
  float all[1] = {v};
  group_reduce<R, G>(all, shared);
  return all[0];
}

// fn(lanes, j, c): vector j of this thread, of a row that G threads share. Neighbouring threads have neighbouring vectors.
template <class P, class Fn> DML_FN void deal(int n, Fn&& fn) {
  const int t = int(threadIdx.x) % P::group;
  DML_UNROLL for (int j = 0; j < P::vectors; j++)
    at_column<P::width, P::tail>((j * P::group + t) * P::width, n, [&](auto l, i64 c) { fn(l, j, c); });
}

// The thread's part of a row: everything is fetched before the first vector is evaluated. What lies past the end is `fill`.
template <class P, class Load> DML_FN void row_values(const Load& x, Outer o, int n, float fill, Vec<float, P::width> (&v)[P::vectors]) {
  typename Load::template Got<P::width> got[P::vectors];
  deal<P>(n, [&](auto l, int j, i64 c) { got[j] = x.fetch(l, o.i0, o.i1, o.i2, c); });
  if constexpr (P::tail != Tail::exact)
    DML_UNROLL for (int j = 0; j < P::vectors; j++) v[j] = splat<P::width>(fill);
  deal<P>(n, [&](auto l, int j, i64 c) { v[j] = keep(l, x.eval(l, got[j], o.i0, o.i1, o.i2, c), fill); });
}

// What the store reads: fetched before the reductions where it comes from far away (P::early), so that it is under way
// meanwhile; what all rows share lies in the nearest cache, and waiting in registers it would only cost occupancy.
template <class P, class Store> struct Operands {
  typename Store::template Got<P::width> got[P::early ? P::vectors : 1];
  DML_FN void fetch_early(const Store& y, Outer o, int n) {
    if constexpr (P::early) deal<P>(n, [&](auto l, int j, i64 c) { got[j] = y.fetch(l, o.i0, o.i1, o.i2, c); });
  }
  template <class L> DML_FN auto at(const Store& y, L l, int j, Outer o, i64 c) const {
    if constexpr (P::early) return got[j];
    else return y.fetch(l, o.i0, o.i1, o.i2, c);
  }
};

// ------------------------------------------------------------------------------------------------ with scratch
DML_HD i64 scratch_pitch(i64 n3) { return ceil_div(n3, 8) * 8; }
// Bytes of scratch of a whole launch, all elements in float32.
inline i64 row_scratch(i64 n0, i64 n1, i64 n2, i64 n3) { return 4 * n0 * n1 * n2 * scratch_pitch(n3); }

// A block walks along one row. Each thread meets the same elements in every walk, so scratch needs no barrier.
template <int W, int Threads> struct AlongRow {
  Outer o;
  i64 n2, n3;
  float* scratch;  // of the outer element (i0, i1)
  template <class D> DML_FN AlongRow(const D& d, float* all) : o(outer_of(blockIdx.x, d.n0, d.n1, d.n2)), n2(d.n2), n3(d.n3) {
    scratch = all + (o.i0 * d.n1 + o.i1) * d.n2 * scratch_pitch(d.n3);
  }
  template <class D> static i64 blocks(const D& d) { return d.n0 * d.n1 * d.n2; }
  DML_FN i64 count() const { return n3; }
  template <class Fn> DML_FN void each(Fn&& fn) const {  // fn(lanes, i2, c, scratch)
    _Pragma("unroll 1") for (i64 c = i64(threadIdx.x) * W; c < n3; c += Threads * W)
      at_column<W, Tail::ragged>(c, n3, [&](auto l, i64 at) { fn(l, o.i2, at, scratch + o.i2 * scratch_pitch(n3) + at); });
  }
  template <class R> DML_FN Vec<float, W> all(Vec<float, W> v, float* shared) const {
    __syncthreads();
    return splat<W>(group_reduce<R, Threads>(over_lanes<R>(v), shared));
  }
  static constexpr int shared_floats = 32;
};

// A block walks down 32 vectors of columns, Threads / 32 rows at a time.
template <int W, int Threads> struct DownColumns {
  Outer o;
  i64 n2, n3, c;
  float* scratch;
  template <class D> DML_FN DownColumns(const D& d, float* all) : n2(d.n2), n3(d.n3) {
    const i64 tiles = ceil_div(d.n3, 32 * W);
    o = outer_of(blockIdx.x, d.n0, d.n1, tiles);
    c = (o.i2 * 32 + threadIdx.x % 32) * W;
    scratch = all + (o.i0 * d.n1 + o.i1) * d.n2 * scratch_pitch(d.n3);
  }
  template <class D> static i64 blocks(const D& d) { return d.n0 * d.n1 * ceil_div(d.n3, 32 * W); }
  DML_FN i64 count() const { return n2; }
  template <class Fn> DML_FN void each(Fn&& fn) const {
    _Pragma("unroll 1") for (i64 r = threadIdx.x / 32; r < n2; r += Threads / 32)
      at_column<W, Tail::ragged>(c, n3, [&](auto l, i64 at) { fn(l, r, at, scratch + r * scratch_pitch(n3) + at); });
  }
  template <class R> DML_FN Vec<float, W> all(Vec<float, W> v, float* shared) const {
    float* mine = shared + threadIdx.x % 32 * W;
    __syncthreads();
    store(Full<W>{}, mine + int(threadIdx.x) / 32 * (32 * W), to<float>(v));
    __syncthreads();
    v = value(load(Full<W>{}, static_cast<const float*>(mine)));
    for (int r = 1; r < Threads / 32; r++) v = combined<R>(v, value(load(Full<W>{}, static_cast<const float*>(mine + r * (32 * W)))));
    return v;
  }
  static constexpr int shared_floats = Threads * W;
};
template <Form F, int W, int Threads> struct WalkOf { using type = AlongRow<W, Threads>; };
template <int W, int Threads> struct WalkOf<Form::columns, W, Threads> { using type = DownColumns<W, Threads>; };
template <class P> using walk_t = typename WalkOf<P::form, P::width, P::threads>::type;

}  // namespace dml::gpu
