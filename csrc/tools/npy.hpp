// Reading and writing .npy files (format versions 1 to 3, little-endian, row-major).
#pragma once
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <string>
#include <utility>
#include <vector>

#include "dinoml/dinoml.hpp"

namespace dinoml::npy {

namespace detail {

[[noreturn]] inline void refuse(const std::string& path, const std::string& why) { throw Error(dinoml_bad_argument, path + ": " + why); }

// The text after `key` in the header's dictionary, which NumPy writes as a Python literal.
inline std::string after(const std::string& header, const std::string& key, const std::string& path) {
  size_t at = header.find("'" + key + "'");
  if (at != std::string::npos) at = header.find(':', at);
  if (at == std::string::npos) refuse(path, "the header has no " + key);
  at = header.find_first_not_of(' ', at + 1);
  return at == std::string::npos ? "" : header.substr(at);
}

// NumPy has no bfloat16 or float8: it stores them as raw bytes (V2, V1), which take the dtype that the artifact expects.
inline int32_t dtype_of(const std::string& descr, int32_t expected, const std::string& path) {
  static const std::pair<const char*, int32_t> known[] = {{"<f2", dinoml_float16}, {"<f4", dinoml_float32}, {"<f8", dinoml_float64},
                                                          {"<i4", dinoml_int32},   {"<i8", dinoml_int64},   {"|i1", dinoml_int8},
                                                          {"|u1", dinoml_uint8},   {"|b1", dinoml_bool}};
  for (const auto& [text, dtype] : known)
    if (descr == text) return dtype;
  const bool raw = descr.size() == 3 && descr[1] == 'V';
  const bool fits = expected == dinoml_bfloat16 || expected == dinoml_float8_e4m3 || expected == dinoml_float8_e5m2;
  if (raw && fits && descr[2] - '0' == dinoml_dtype_bytes(expected)) return expected;
  refuse(path, "dtype " + descr + " is not one that artifacts take");
}

inline const char* descr_of(int32_t dtype) {
  switch (dtype) {
    case dinoml_float16: return "<f2";
    case dinoml_float32: return "<f4";
    case dinoml_float64: return "<f8";
    case dinoml_int32: return "<i4";
    case dinoml_int64: return "<i8";
    case dinoml_int8: return "|i1";
    case dinoml_uint8: return "|u1";
    case dinoml_bool: return "|b1";
    case dinoml_bfloat16: return "<V2";
    default: return "|V1";
  }
}

inline std::vector<int64_t> parse_shape(const std::string& text, const std::string& path) {
  std::vector<int64_t> shape;
  if (text.empty() || text[0] != '(') refuse(path, "the shape is not a tuple");
  const char* at = text.c_str() + 1;
  while (true) {
    while (*at == ' ' || *at == ',') ++at;
    if (*at == ')') return shape;
    char* end = nullptr;
    const long long extent = strtoll(at, &end, 10);
    if (end == at || extent < 0) refuse(path, "the shape is not valid");
    shape.push_back(extent);
    at = end;
  }
}

}  // namespace detail

// expected: what raw two-byte or one-byte elements are to be taken for.
inline Tensor read(const std::string& path, int32_t expected) {
  const FileView file(path);
  const unsigned char* p = reinterpret_cast<const unsigned char*>(file.data());
  if (file.bytes() < 12 || memcmp(p, "\x93NUMPY", 6) != 0 || p[6] < 1 || p[6] > 3) detail::refuse(path, "not a .npy file");
  const bool wide = p[6] >= 2;
  const size_t begin = wide ? 12 : 10;
  const size_t length =
      wide ? size_t{p[8]} | size_t{p[9]} << 8 | size_t{p[10]} << 16 | size_t{p[11]} << 24 : size_t{p[8]} | size_t{p[9]} << 8;
  if (length > file.bytes() - begin) detail::refuse(path, "the header is longer than the file");
  const std::string header(file.data() + begin, length);
  const std::string descr = detail::after(header, "descr", path), order = detail::after(header, "fortran_order", path);
  if (descr.size() < 5 || descr[0] != '\'') detail::refuse(path, "structured dtypes are not supported");
  if (order.compare(0, 5, "False") != 0) detail::refuse(path, "column-major order is not supported; save numpy.ascontiguousarray(array)");
  const std::string name = descr.substr(1, descr.find('\'', 1) - 1);
  Tensor out = Tensor::empty(detail::dtype_of(name, expected, path), detail::parse_shape(detail::after(header, "shape", path), path));
  if (static_cast<size_t>(out.bytes()) != file.bytes() - begin - length)
    detail::refuse(path, "the data does not have the size that the header says");
  if (out.bytes() > 0) memcpy(out.raw(), file.data() + begin + length, static_cast<size_t>(out.bytes()));
  return out;
}

inline void write(const std::string& path, const Tensor& tensor) {
  std::string header = std::string("{'descr': '") + detail::descr_of(tensor.dtype()) + "', 'fortran_order': False, 'shape': (";
  for (const int64_t extent : tensor.shape()) header += std::to_string(extent) + ", ";
  header += "), }";
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  FILE* const file = fopen(path.c_str(), "wb");
  if (!file) throw Error(dinoml_io_error, path + ": " + strerror(errno));
  const unsigned char start[10] = {
      0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, static_cast<unsigned char>(header.size() & 255), static_cast<unsigned char>(header.size() >> 8)};
  const size_t bytes = static_cast<size_t>(tensor.bytes());
  bool written = fwrite(start, 1, 10, file) == 10 && fwrite(header.data(), 1, header.size(), file) == header.size();
  written = written && fwrite(tensor.raw(), 1, bytes, file) == bytes;
  written = fclose(file) == 0 && written;
  if (!written) throw Error(dinoml_io_error, path + ": cannot be written: " + strerror(errno));
}

}  // namespace dinoml::npy
