// SHA-256 as FIPS 180-4 writes it down; plain and unhurried.
#include "config/sha256.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace hysim::config {

namespace {

using Words = std::array<std::uint32_t, 8>;

constexpr std::size_t kBlock = 64;

constexpr std::array<std::uint32_t, 64> kRound = {
    0x428a2f98U, 0x71374491U, 0xb5c0fbcfU, 0xe9b5dba5U, 0x3956c25bU, 0x59f111f1U, 0x923f82a4U,
    0xab1c5ed5U, 0xd807aa98U, 0x12835b01U, 0x243185beU, 0x550c7dc3U, 0x72be5d74U, 0x80deb1feU,
    0x9bdc06a7U, 0xc19bf174U, 0xe49b69c1U, 0xefbe4786U, 0x0fc19dc6U, 0x240ca1ccU, 0x2de92c6fU,
    0x4a7484aaU, 0x5cb0a9dcU, 0x76f988daU, 0x983e5152U, 0xa831c66dU, 0xb00327c8U, 0xbf597fc7U,
    0xc6e00bf3U, 0xd5a79147U, 0x06ca6351U, 0x14292967U, 0x27b70a85U, 0x2e1b2138U, 0x4d2c6dfcU,
    0x53380d13U, 0x650a7354U, 0x766a0abbU, 0x81c2c92eU, 0x92722c85U, 0xa2bfe8a1U, 0xa81a664bU,
    0xc24b8b70U, 0xc76c51a3U, 0xd192e819U, 0xd6990624U, 0xf40e3585U, 0x106aa070U, 0x19a4c116U,
    0x1e376c08U, 0x2748774cU, 0x34b0bcb5U, 0x391c0cb3U, 0x4ed8aa4aU, 0x5b9cca4fU, 0x682e6ff3U,
    0x748f82eeU, 0x78a5636fU, 0x84c87814U, 0x8cc70208U, 0x90befffaU, 0xa4506cebU, 0xbef9a3f7U,
    0xc67178f2U};

constexpr std::uint32_t rotate(std::uint32_t x, unsigned by) {
  return (x >> by) | (x << (32U - by));
}

/// `block`: kBlock bytes.
void compress(Words& hash, std::string_view block) {
  std::array<std::uint32_t, 64> w{};
  for (std::size_t i = 0; i < 16; ++i) {
    for (std::size_t b = 0; b < 4; ++b) {
      w[i] = (w[i] << 8U) | static_cast<unsigned char>(block[4 * i + b]);
    }
  }
  for (std::size_t i = 16; i < 64; ++i) {
    const std::uint32_t x = w[i - 15];
    const std::uint32_t y = w[i - 2];
    const std::uint32_t s0 = rotate(x, 7) ^ rotate(x, 18) ^ (x >> 3U);
    const std::uint32_t s1 = rotate(y, 17) ^ rotate(y, 19) ^ (y >> 10U);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }

  auto [a, b, c, d, e, f, g, h] = hash;
  for (std::size_t i = 0; i < 64; ++i) {
    const std::uint32_t s1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
    const std::uint32_t choose = (e & f) ^ (~e & g);
    const std::uint32_t t1 = h + s1 + choose + kRound[i] + w[i];
    const std::uint32_t s0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
    const std::uint32_t majority = (a & b) ^ (a & c) ^ (b & c);
    const std::uint32_t t2 = s0 + majority;
    h = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + t2;
  }
  const Words step = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < hash.size(); ++i) hash[i] += step[i];
}

}  // namespace

std::string sha256_hex(std::string_view data) {
  Words hash = {0x6a09e667U, 0xbb67ae85U, 0x3c6ef372U, 0xa54ff53aU,
                0x510e527fU, 0x9b05688cU, 0x1f83d9abU, 0x5be0cd19U};
  const std::uint64_t bits = static_cast<std::uint64_t>(data.size()) * 8U;

  while (data.size() >= kBlock) {
    compress(hash, data.substr(0, kBlock));
    data.remove_prefix(kBlock);
  }
  std::string last(data);
  last += '\x80';
  while (last.size() % kBlock != kBlock - 8) last += '\0';
  for (unsigned shift = 64; shift > 0;) {
    shift -= 8;
    last += static_cast<char>(static_cast<unsigned char>((bits >> shift) & 0xFFU));
  }
  for (std::size_t at = 0; at < last.size(); at += kBlock) {
    compress(hash, std::string_view(last).substr(at, kBlock));
  }

  constexpr std::string_view kHex = "0123456789abcdef";
  std::string hex;
  for (const std::uint32_t word : hash) {
    for (unsigned shift = 32; shift > 0;) {
      shift -= 4;
      hex += kHex[(word >> shift) & 0xFU];
    }
  }
  return hex;
}

}  // namespace hysim::config
