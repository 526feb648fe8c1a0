// GEMMs that a profile run must survive and must never choose.
#pragma once
#include "kernels/cpu/gemm.h"

namespace dml::bad {
using namespace dml::cpu;

enum class How { crash, hang, wrong_last_k, writes_outside, fails, right };

template <class P, class A, class B, class Y> int gemm(const dml_ctx& ctx, const cpu::GemmDims& d, A a, B b, Y y) {
  if (P::how == How::crash) *static_cast<volatile int*>(nullptr) = 1;
  if (P::how == How::hang)
    for (volatile int turn = 0;;) turn = 1;
  if (P::how == How::fails) return 3;
  if (P::how == How::right) return cpu::gemm<P>(ctx, d, a, b, y);
  cpu::GemmDims other = d;
  if (P::how == How::wrong_last_k) other.k -= 1;
  if (P::how == How::writes_outside) {
    const Full<cpu::lanes> l{};
    y.put(l, y.fetch(l, 0, 0, 0, 0), d.b0 - 1, d.b1 - 1, d.m, 0, splat<cpu::lanes>(1.f));
  }
  return cpu::gemm<P>(ctx, other, a, b, y);
}

}  // namespace dml::bad
