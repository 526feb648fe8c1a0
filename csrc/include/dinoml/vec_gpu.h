// Vec on GPUs: N registers of one lane, every operation a loop over them that the compiler unrolls. Memory moves in accesses
// of up to 16 bytes: a Full access of N elements must be aligned to N * sizeof(S) bytes or to 16, whichever is less, which is
// what the width of a candidate guarantees. Part touches only its own elements, one by one.
#pragma once
#include "dinoml/port.h"

namespace dml {

template <class T> inline constexpr int native = 16 / int(sizeof(T));

template <class T, int N> struct Vec {
  static_assert((N & (N - 1)) == 0, "lanes: a power of two");
  T v[N];
};

// ------------------------------------------------------------------------------------------------ lanes and halves
// The vector whose lane i is fn(i); the compiler sees each i as a constant.
template <class T, int N, class Fn> DML_FN Vec<T, N> make(Fn fn) {
  Vec<T, N> r;
  DML_UNROLL for (int i = 0; i < N; i++) r.v[i] = T(fn(i));
  return r;
}
template <int N, class T> DML_FN Vec<T, N> splat(T x) { return make<T, N>([&](int) { return x; }); }
template <int I, class T, int N> DML_FN T lane(Vec<T, N> a) { return a.v[I]; }
template <class T, int N> DML_FN void spread(Vec<T, N> a, T* to) {  // to[i] = lane i
  DML_UNROLL for (int i = 0; i < N; i++) to[i] = a.v[i];
}
template <class T, int N> DML_FN T get(Vec<T, N> a, int i) { return a.v[i]; }
template <class T, int N> DML_FN Vec<T, N / 2> low(Vec<T, N> a) { return make<T, N / 2>([&](int i) { return a.v[i]; }); }
template <class T, int N> DML_FN Vec<T, N / 2> high(Vec<T, N> a) { return make<T, N / 2>([&](int i) { return a.v[N / 2 + i]; }); }
template <class T, int H> DML_FN Vec<T, 2 * H> join(Vec<T, H> a, Vec<T, H> b) {
  Vec<T, 2 * H> r;
  DML_UNROLL for (int i = 0; i < H; i++) r.v[i] = a.v[i], r.v[H + i] = b.v[i];
  return r;
}

// ------------------------------------------------------------------------------------------------ operators
// Integers go through unsigned, where overflow wraps.
#define DML_ARITHMETIC(op)                                                                                          \
  template <class T, int N> DML_FN Vec<T, N> operator op(Vec<T, N> a, Vec<T, N> b) {                                \
    static_assert(!same<T, bool>, "masks have & | ^ ~ only");                                                       \
    if constexpr (is_float<T>) return make<T, N>([&](int i) { return a.v[i] op b.v[i]; });                          \
    else return make<T, N>([&](int i) { using U = typename Bits<T>::u; return T(U(a.v[i]) op U(b.v[i])); });        \
  }
DML_ARITHMETIC(+)
DML_ARITHMETIC(-)
DML_ARITHMETIC(*)
#undef DML_ARITHMETIC
template <class T, int N> DML_FN Vec<T, N> operator/(Vec<T, N> a, Vec<T, N> b) {
  static_assert(is_float<T>, "integers have floor_div and mod");
  return make<T, N>([&](int i) { return a.v[i] / b.v[i]; });
}
template <class T, int N> DML_FN Vec<T, N> operator-(Vec<T, N> a) {
  if constexpr (is_float<T>) return make<T, N>([&](int i) { return -a.v[i]; });
  else return make<T, N>([&](int i) { return T(-typename Bits<T>::u(a.v[i])); });
}
#define DML_BITWISE(op)                                                                                             \
  template <class T, int N> DML_FN Vec<T, N> operator op(Vec<T, N> a, Vec<T, N> b) {                                \
    static_assert(!is_float<T>, "integers and masks");                                                              \
    return make<T, N>([&](int i) { return T(a.v[i] op b.v[i]); });                                                  \
  }
DML_BITWISE(&)
DML_BITWISE(|)
DML_BITWISE(^)
#undef DML_BITWISE
template <class T, int N> DML_FN Vec<T, N> operator~(Vec<T, N> a) {
  static_assert(!is_float<T>, "integers and masks");
  if constexpr (same<T, bool>) return make<T, N>([&](int i) { return !a.v[i]; });
  else return make<T, N>([&](int i) { return ~a.v[i]; });
}
#define DML_COMPARE(op)                                                                                             \
  template <class T, int N> DML_FN Vec<bool, N> operator op(Vec<T, N> a, Vec<T, N> b) {                             \
    return make<bool, N>([&](int i) { return a.v[i] op b.v[i]; });                                                  \
  }
DML_COMPARE(<)
DML_COMPARE(<=)
DML_COMPARE(>)
DML_COMPARE(>=)
DML_COMPARE(==)
DML_COMPARE(!=)
#undef DML_COMPARE

// ------------------------------------------------------------------------------------------------ choice
// NOTE: values, not a.v[i] and b.v[i], stand behind the question mark: of two places clang would select the address, and both
// vectors would then live in memory.
template <class T, int N> DML_FN Vec<T, N> select(Vec<bool, N> m, Vec<T, N> a, Vec<T, N> b) {
  return make<T, N>([&](int i) {
    const T x = a.v[i], y = b.v[i];
    return m.v[i] ? x : y;
  });
}
// Lanes before n.
template <int N> DML_FN Vec<bool, N> first(int n) { return make<bool, N>([&](int i) { return i < n; }); }
template <class T, int N> DML_FN Vec<T, N> pick_larger(Vec<T, N> a, Vec<T, N> b) { return select(a > b, a, b); }
template <class T, int N> DML_FN Vec<T, N> pick_smaller(Vec<T, N> a, Vec<T, N> b) { return select(a < b, a, b); }
// One instruction where the general text of vec.h makes four.
template <int N> DML_FN Vec<float, N> max(Vec<float, N> a, Vec<float, N> b) {
  return make<float, N>([&](int i) { return gpu::max_nan(a.v[i], b.v[i]); });
}
template <int N> DML_FN Vec<float, N> min(Vec<float, N> a, Vec<float, N> b) {
  return make<float, N>([&](int i) { return gpu::min_nan(a.v[i], b.v[i]); });
}
template <int N> DML_FN bool any_lane(Vec<bool, N> a) {
  bool r = false;
  DML_UNROLL for (int i = 0; i < N; i++) r |= a.v[i];
  return r;
}

// Registers of another type with the same bits.
template <class T, class S, int N> DML_FN Vec<T, N> bitcast(Vec<S, N> a) {
  static_assert(sizeof(T) == sizeof(S), "same size");
  return make<T, N>([&](int i) {
    T r;
    __builtin_memcpy(&r, &a.v[i], sizeof(T));
    return r;
  });
}

template <class T, class S, int N> DML_FN Vec<T, N> cast(Vec<S, N> a) {
  if constexpr (same<T, S>) return a;
  else if constexpr (same<T, bool>) return a != splat<N>(S(0));
  else if constexpr (is_float<S> && !is_float<T>) {
    constexpr T most = T(~typename Bits<T>::u(0) >> 1), least = -most - 1;
    const Vec<S, N> from = splat<N>(S(least)), past = -from;  // S(least) is exact
    const Vec<S, N> inside = select((a >= from) & (a < past), a, splat<N>(S(0)));
    const Vec<T, N> r = make<T, N>([&](int i) { return T(inside.v[i]); });
    return select(a >= past, splat<N>(most), select(a < from, splat<N>(least), r));
  } else return make<T, N>([&](int i) { return T(a.v[i]); });
}

// By a constant below the width of T; right: zeros come in.
template <class T, int N> DML_FN Vec<T, N> shift_bits_left(Vec<T, N> a, int by) {
  return make<T, N>([&](int i) { return T(typename Bits<T>::u(a.v[i]) << by); });
}
template <class T, int N> DML_FN Vec<T, N> shift_bits_right(Vec<T, N> a, int by) {
  return make<T, N>([&](int i) { return T(typename Bits<T>::u(a.v[i]) >> by); });
}
template <int N> DML_FN Vec<int32_t, N> shift_sign_right(Vec<int32_t, N> a, int by) {  // the sign comes in
  return make<int32_t, N>([&](int i) { return a.v[i] >> by; });
}

// ------------------------------------------------------------------------------------------------ memory
// Elements of less than four bytes lie packed in words, so that what moves are words: out of single narrow elements compilers
// do not make a wide access again.
template <class S, int N, bool Packed = (sizeof(S) < 4 && N * sizeof(S) >= 4)> struct WordOf { using type = S; };
template <class S, int N> struct WordOf<S, N, true> { using type = uint32_t; };
template <class S, int N> using word_of = typename WordOf<S, N>::type;
template <class W, int K> struct alignas(K * sizeof(W)) Words { W w[K]; };  // what one instruction moves
template <int Bytes> struct WholeOf { using type = unsigned __int128; };
template <> struct WholeOf<8> { using type = uint64_t; };
template <int Bytes> using whole_of = typename WholeOf<Bytes>::type;

template <class S, int N> struct Raw {
  using Word = word_of<S, N>;
  static constexpr int each = sizeof(Word) / sizeof(S), words = N / each, most = 16 / sizeof(Word), access = words < most ? words : most;
  using Access = Words<Word, access>;
  Word w[words];

  DML_FN S at(int i) const {
    if constexpr (each == 1) return w[i];
    else return S{decltype(S::bits)(w[i / each] >> i % each * (32 / each))};
  }
  DML_FN void set(int i, S x) {
    if constexpr (each == 1) w[i] = x;
    else {
      const int shift = i % each * (32 / each);
      w[i / each] = (w[i / each] & ~(((1u << (32 / each)) - 1) << shift)) | uint32_t(x.bits) << shift;
    }
  }
};

template <class S, int N> DML_FN Raw<S, N> load(Full<N>, const S* p) {
  using R = Raw<S, N>;
  R r;
  DML_UNROLL for (int c = 0; c < R::words; c += R::access) {
    const typename R::Access a = reinterpret_cast<const typename R::Access*>(p)[c / R::access];
    DML_UNROLL for (int i = 0; i < R::access; i++) r.w[c + i] = a.w[i];
  }
  return r;
}
template <class S, int N> DML_FN void store(Full<N>, S* p, Raw<S, N> r) {
  using R = Raw<S, N>;
  DML_UNROLL for (int c = 0; c < R::words; c += R::access) {
    typename R::Access a;
    DML_UNROLL for (int i = 0; i < R::access; i++) a.w[i] = r.w[c + i];
    if constexpr (sizeof a >= 8) {  // NOTE: as one integer: nvcc leaves the last of several stores of a struct in four pieces
      using Whole = whole_of<sizeof a>;
      Whole all;
      __builtin_memcpy(&all, &a, sizeof a);
      reinterpret_cast<Whole*>(p)[c / R::access] = all;
    } else reinterpret_cast<typename R::Access*>(p)[c / R::access] = a;
  }
}
// Element i is fn(i), for the lanes of the access only.
template <class S, int N, class Fn> DML_FN Raw<S, N> load_each(Full<N>, Fn fn) {
  Raw<S, N> r{};
  DML_UNROLL for (int i = 0; i < N; i++) r.set(i, fn(i));
  return r;
}
template <class S, int N, class Fn> DML_FN Raw<S, N> load_each(Part<N> l, Fn fn) {
  Raw<S, N> r{};
  DML_UNROLL for (int i = 0; i < N; i++) if (i < l.n) r.set(i, fn(i));
  return r;
}
template <class S, int N, class Fn> DML_FN void store_each(Full<N>, Raw<S, N> r, Fn fn) {
  DML_UNROLL for (int i = 0; i < N; i++) fn(i, r.at(i));
}
template <class S, int N, class Fn> DML_FN void store_each(Part<N> l, Raw<S, N> r, Fn fn) {
  DML_UNROLL for (int i = 0; i < N; i++) if (i < l.n) fn(i, r.at(i));
}
template <class S, int N> DML_FN Raw<S, N> load(Part<N> l, const S* p) { return load_each<S>(l, [=](int i) { return p[i]; }); }
template <class S, int N> DML_FN void store(Part<N> l, S* p, Raw<S, N> r) { store_each(l, r, [=](int i, S x) { p[i] = x; }); }
template <class L, class S, int N> DML_FN void store_stream(L l, S* p, Raw<S, N> r) { store(l, p, r); }
template <class L, class S> DML_FN auto load_strided(L l, const S* p, i64 stride) {
  return load_each<S>(l, [=](int i) { return p[i * stride]; });
}
template <class L, class S, int N> DML_FN void store_strided(L l, S* p, i64 stride, Raw<S, N> r) {
  store_each(l, r, [=](int i, S x) { p[i * stride] = x; });
}
template <class S, int N> DML_FN void spread(Raw<S, N> a, S* to) {
  DML_UNROLL for (int i = 0; i < N; i++) to[i] = a.at(i);
}

// ------------------------------------------------------------------------------------------------ conversion
template <class S, int N> DML_FN Vec<compute_t<S>, N> value(Raw<S, N> r) {
  if constexpr (same<S, bf16>) return bitcast<float>(make<uint32_t, N>([&](int i) {
    if constexpr (N == 1) return uint32_t(r.w[0].bits) << 16;
    else return i % 2 ? r.w[i / 2] & 0xffff0000u : r.w[i / 2] << 16;
  }));
  else if constexpr (same<S, f16>) return make<float, N>([&](int i) { return gpu::float_from_f16(r.at(i).bits); });
  else if constexpr (same<S, b8>) return make<bool, N>([&](int i) { return r.at(i).bits != 0; });
  else return make<S, N>([&](int i) { return r.w[i]; });
}
template <class S, int N> DML_FN Raw<S, N> pack(Vec<compute_t<S>, N> a) {
  Raw<S, N> r{};
  if constexpr (same<S, bf16> && N > 1) DML_UNROLL for (int i = 0; i < N; i += 2) r.w[i / 2] = gpu::bf16_pair_from_float(a.v[i], a.v[i + 1]);
  else DML_UNROLL for (int i = 0; i < N; i++) {
    if constexpr (same<S, bf16>) r.set(i, bf16{uint16_t(gpu::bf16_pair_from_float(a.v[i], 0.f))});
    else if constexpr (same<S, f16>) r.set(i, f16{gpu::f16_from_float(a.v[i])});
    else if constexpr (same<S, b8>) r.set(i, b8{uint8_t(a.v[i])});
    else r.set(i, a.v[i]);
  }
  return r;
}

}  // namespace dml
