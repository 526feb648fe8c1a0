// Digests of artifact files: SHA-256 for code and JSON, a fast hash for constants. Both guard against damage; whoever
// fears tampering compares the artifact's digest with one that came another way (expected_digest).
#pragma once
#include <stdint.h>
#include <string.h>

#include <algorithm>
#include <array>
#include <string>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace dinoml {

inline std::string hex(const unsigned char* bytes, size_t count) {
  static const char* const digits = "0123456789abcdef";
  std::string out;
  for (size_t i = 0; i < count; ++i) {
    out += digits[bytes[i] >> 4];
    out += digits[bytes[i] & 15];
  }
  return out;
}

// FIPS 180-4.
class Sha256 {
 public:
  void update(const void* data, size_t bytes) {
    const unsigned char* p = static_cast<const unsigned char*>(data);
    total_ += bytes;
    if (held_ > 0) {
      const size_t take = std::min(bytes, sizeof block_ - held_);
      memcpy(block_ + held_, p, take);
      held_ += take;
      p += take;
      bytes -= take;
      if (held_ < sizeof block_) return;
      compress(block_, 1);
      held_ = 0;
    }
    compress(p, bytes / 64);
    p += bytes / 64 * 64;
    held_ = bytes % 64;
    if (held_ > 0) memcpy(block_, p, held_);
  }

  std::string finish() {
    const uint64_t bits = total_ * 8;
    unsigned char end[72] = {0x80};
    const size_t padding = (held_ < 56 ? 56 : 120) - held_;
    for (int i = 0; i < 8; ++i) end[padding + static_cast<size_t>(i)] = static_cast<unsigned char>(bits >> (56 - 8 * i));
    update(end, padding + 8);
    unsigned char out[32];
    for (size_t i = 0; i < 32; ++i) out[i] = static_cast<unsigned char>(state_[i / 4] >> (24 - 8 * (i % 4)));
    return hex(out, 32);
  }

 private:
  static constexpr uint32_t kRound[64] = {
      0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
      0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
      0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
      0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
      0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
      0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

  void compress(const unsigned char* p, size_t blocks) {
#if defined(__x86_64__)
    static const bool fast = sha_instructions();
    if (fast) return compress_instructions(p, blocks);
#endif
    for (; blocks > 0; --blocks, p += 64) compress_plain(p);
  }

  static uint32_t rotate(uint32_t x, int n) { return (x >> n) | (x << (32 - n)); }

  void compress_plain(const unsigned char* p) {
    uint32_t w[64];
    for (int i = 0; i < 16; ++i)
      w[i] = uint32_t{p[4 * i]} << 24 | uint32_t{p[4 * i + 1]} << 16 | uint32_t{p[4 * i + 2]} << 8 | uint32_t{p[4 * i + 3]};
    for (int i = 16; i < 64; ++i) {
      const uint32_t a = w[i - 15], b = w[i - 2];
      w[i] = w[i - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ (a >> 3)) + w[i - 7] + (rotate(b, 17) ^ rotate(b, 19) ^ (b >> 10));
    }
    uint32_t s[8];
    memcpy(s, state_, sizeof s);
    for (int i = 0; i < 64; ++i) {
      const uint32_t t1 =
          s[7] + (rotate(s[4], 6) ^ rotate(s[4], 11) ^ rotate(s[4], 25)) + ((s[4] & s[5]) ^ (~s[4] & s[6])) + kRound[i] + w[i];
      const uint32_t t2 = (rotate(s[0], 2) ^ rotate(s[0], 13) ^ rotate(s[0], 22)) + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
      memmove(s + 1, s, 7 * sizeof(uint32_t));
      s[4] += t1;
      s[0] = t1 + t2;
    }
    for (int i = 0; i < 8; ++i) state_[i] += s[i];
  }

#if defined(__x86_64__)
  static bool sha_instructions() {
    unsigned a = 0, b = 0, c = 0, d = 0;
    __asm__("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "a"(0), "c"(0));
    if (a < 7) return false;
    __asm__("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "a"(7), "c"(0));
    return (b >> 29 & 1) != 0;
  }

  // The SHA extension keeps the state as the rows ABEF and CDGH; each step does four rounds.
  __attribute__((target("sha,sse4.1"))) void compress_instructions(const unsigned char* p, size_t blocks) {
    const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0bLL, 0x0405060700010203LL);
    const __m128i low = _mm_shuffle_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(state_)), 0xB1);
    const __m128i high = _mm_shuffle_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(state_ + 4)), 0x1B);
    __m128i abef = _mm_alignr_epi8(low, high, 8), cdgh = _mm_blend_epi16(high, low, 0xF0);
    for (; blocks > 0; --blocks, p += 64) {
      const __m128i abef_before = abef, cdgh_before = cdgh;
      __m128i w[4];
      for (int i = 0; i < 4; ++i) w[i] = _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p) + i), swap);
      for (int i = 0; i < 16; ++i) {
        if (i >= 4) {
          const __m128i middle = _mm_alignr_epi8(w[(i + 3) & 3], w[(i + 2) & 3], 4);
          w[i & 3] = _mm_sha256msg2_epu32(_mm_add_epi32(_mm_sha256msg1_epu32(w[i & 3], w[(i + 1) & 3]), middle), w[(i + 3) & 3]);
        }
        const __m128i wk = _mm_add_epi32(w[i & 3], _mm_loadu_si128(reinterpret_cast<const __m128i*>(kRound) + i));
        cdgh = _mm_sha256rnds2_epu32(cdgh, abef, wk);
        abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(wk, 0x0E));
      }
      abef = _mm_add_epi32(abef, abef_before);
      cdgh = _mm_add_epi32(cdgh, cdgh_before);
    }
    const __m128i feba = _mm_shuffle_epi32(abef, 0x1B), dchg = _mm_shuffle_epi32(cdgh, 0xB1);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(state_), _mm_blend_epi16(feba, dchg, 0xF0));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(state_ + 4), _mm_alignr_epi8(dchg, feba, 8));
  }
#endif

  uint32_t state_[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  unsigned char block_[64];
  size_t held_ = 0;
  uint64_t total_ = 0;
};

inline std::string sha256(const void* data, size_t bytes) {
  Sha256 hash;
  hash.update(data, bytes);
  return hash.finish();
}

// The fast hash: chunks of 1 MiB, each hashed on its own by four 64-bit lanes (xor a word, rotate, multiply: all bijective, so
// a change within one word always changes its lane), then folded in order with the chunk's length. 128 bits out, version "f1".
class FastHash {
 public:
  static constexpr size_t kChunk = size_t{1} << 20;

  // All but the last call must pass a multiple of kChunk bytes.
  void update(const void* data, size_t bytes) {
    const unsigned char* p = static_cast<const unsigned char*>(data);
    while (bytes > 0) {
      const size_t take = std::min(bytes, kChunk);
      fold(chunk(p, take), take);
      p += take;
      bytes -= take;
    }
  }

  std::string finish() const {
    const uint64_t words[2] = {mix(a_ ^ rotate(b_, 32)), mix(b_ + kPrime[2] * a_)};
    unsigned char out[16];
    for (size_t i = 0; i < 16; ++i) out[i] = static_cast<unsigned char>(words[i / 8] >> (56 - 8 * (i % 8)));
    return "f1:" + hex(out, 16);
  }

 private:
  static constexpr uint64_t kPrime[4] = {0x9E3779B97F4A7C15u, 0xC2B2AE3D27D4EB4Fu, 0xD6E8FEB86659FD93u, 0xA0761D6478BD642Fu};

  static uint64_t rotate(uint64_t x, int n) { return (x << n) | (x >> (64 - n)); }

  static uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 32)) * kPrime[2];
    x = (x ^ (x >> 29)) * kPrime[1];
    return x ^ (x >> 32);
  }

  static uint64_t word(const unsigned char* p) {
    uint64_t w;
    memcpy(&w, p, sizeof w);
    return w;
  }

  // Lanes in scalars: an array would live on the stack and cost store forwarding in each step.
  static std::array<uint64_t, 4> chunk(const unsigned char* p, size_t bytes) {
    uint64_t a = kPrime[3], b = kPrime[2], c = kPrime[1], d = kPrime[0];
    const auto step = [&](const unsigned char* q) {
      a = rotate(a ^ word(q), 29) * kPrime[0];
      b = rotate(b ^ word(q + 8), 29) * kPrime[1];
      c = rotate(c ^ word(q + 16), 29) * kPrime[2];
      d = rotate(d ^ word(q + 24), 29) * kPrime[3];
    };
    for (; bytes >= 32; bytes -= 32, p += 32) step(p);
    if (bytes > 0) {
      unsigned char tail[32] = {0};
      memcpy(tail, p, bytes);
      step(tail);
    }
    return {a, b, c, d};
  }

  void fold(const std::array<uint64_t, 4>& lane, size_t bytes) {
    a_ = rotate(a_ ^ mix(lane[0]), 23) * kPrime[0] + mix(lane[1]);
    b_ = rotate(b_ ^ mix(lane[2]), 37) * kPrime[3] + mix(lane[3]);
    a_ = (a_ ^ bytes) * kPrime[1];
    b_ = (b_ ^ rotate(a_, 17)) * kPrime[2];
  }

  uint64_t a_ = kPrime[0], b_ = kPrime[3];
};

}  // namespace dinoml
