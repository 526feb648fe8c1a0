// Pointwise: body.run on every element of a grid of four coordinates. The body computes and stores all outputs, so one
// pass serves a chain with any number of results.
// Mapping: an item is P::rows neighbouring rows (i2) times a tile of columns; a worker takes consecutive items and walks
// memory forward. Lanes run along i3. P::unroll vectors of each row are fetched before the first of them is run.
// Traffic: each operand once, each result once. An operand that is the same for all rows is read once for P::rows rows:
// long ones do not stay in L1, and reading them from L2 for each row made rows of 4096 columns 1.4 times slower than rows
// of 1024. Use rows = 4, unroll = 1 where such operands exist, rows = 1, unroll = 2 or 4 elsewhere.
#pragma once
#include "dinoml/parallel.h"
#include "dinoml/vec.h"

namespace dml::cpu {

struct PointwiseDims { i64 n0, n1, n2, n3; };

// Body: template <int N> struct Got; Got fetch(lanes, i0, i1, i2, i3); void run(lanes, got, i0, i1, i2, i3).
template <int W, int U, int R, class Body> DML_FN void pointwise_rows(const Body& body, i64 i0, i64 i1, i64 i2, i64 lo, i64 hi) {
  i64 c = lo;
  for (; c + W * U <= hi; c += W * U) {
    typename Body::template Got<W> got[U * R];
    DML_UNROLL for (int k = 0; k < U * R; k++) got[k] = body.fetch(Full<W>{}, i0, i1, i2 + k / U, c + k % U * W);
    DML_UNROLL for (int k = 0; k < U * R; k++) body.run(Full<W>{}, got[k], i0, i1, i2 + k / U, c + k % U * W);
  }
  for (int r = 0; r < R; r++) {
    i64 k = c;
    if constexpr (U > 1)
      for (; k + W <= hi; k += W) body.run(Full<W>{}, body.fetch(Full<W>{}, i0, i1, i2 + r, k), i0, i1, i2 + r, k);
    if (k < hi) {
      const Part<W> lanes{int(hi - k)};
      body.run(lanes, body.fetch(lanes, i0, i1, i2 + r, k), i0, i1, i2 + r, k);
    }
  }
}

// P: width (lanes), unroll (vectors of a fetch), rows (rows of a fetch).
template <class P, class Body> int pointwise(const dml_ctx& ctx, const PointwiseDims& d, Body body_) {
  constexpr i64 tile_most = 16384, item_elements = 16384, long_row = 2048;
  if (d.n0 <= 0 || d.n1 <= 0 || d.n2 <= 0 || d.n3 <= 0) return 0;
  const i64 tiles = (d.n3 + tile_most - 1) / tile_most, tile = ((d.n3 + tiles - 1) / tiles + P::width - 1) / P::width * P::width;
  const i64 together = d.n3 >= long_row ? i64(P::rows) : 1;  // several short rows at a time would only disturb the prefetchers
  const i64 blocks = (d.n2 + together - 1) / together;
  const i64 grain = (item_elements + tile * together - 1) / (tile * together);
  parallel(ctx, d.n0 * d.n1 * blocks * tiles, grain, [&](i64 begin, i64 end, int) {
    auto body = body_;
    i64 t = begin % tiles, block = begin / tiles % blocks, i1 = begin / tiles / blocks % d.n1, i0 = begin / tiles / blocks / d.n1;
    for (i64 item = begin; item < end;) {
      const i64 lo = t * tile, hi = lo + tile < d.n3 ? lo + tile : d.n3, i2 = block * together;
      if (tiles == 1 && together == 1) {  // short rows: as few instructions between them as possible
        const i64 stop = block + (end - item) < d.n2 ? block + (end - item) : d.n2;
        item += stop - block;
        for (i64 r = block; r < stop; r++) pointwise_rows<P::width, P::unroll, 1>(body, i0, i1, r, 0, d.n3);
        block = stop;
      } else {
        if (P::rows > 1 && i2 + P::rows <= d.n2) pointwise_rows<P::width, P::unroll, P::rows>(body, i0, i1, i2, lo, hi);
        else
          for (i64 r = i2; r < i2 + together && r < d.n2; r++) pointwise_rows<P::width, P::unroll, 1>(body, i0, i1, r, lo, hi);
        item++;
        if (++t < tiles) continue;
        t = 0, block++;
      }
      if (block == blocks) {
        block = 0;
        if (++i1 == d.n1) i1 = 0, i0++;
      }
    }
  });
  return 0;
}

}  // namespace dml::cpu
