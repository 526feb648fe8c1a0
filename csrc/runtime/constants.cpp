#include "constants.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "dinoml/json.hpp"
#include "status.h"

namespace dinoml::rt {
namespace {

constexpr int64_t kAlignment = 64;
constexpr std::string_view kFiller = "__pad";  // names of the tensors that only fill the gaps between aligned ones

const char* safetensors_dtype(int32_t dtype) {
  switch (dtype) {
    case dinoml_float16: return "F16";
    case dinoml_float32: return "F32";
    case dinoml_int32: return "I32";
    case dinoml_int64: return "I64";
    case dinoml_bool: return "BOOL";
    case dinoml_bfloat16: return "BF16";
    case dinoml_float8_e4m3: return "F8_E4M3";
    case dinoml_float8_e5m2: return "F8_E5M2";
    case dinoml_float64: return "F64";
    case dinoml_int8: return "I8";
    case dinoml_uint8: return "U8";
    default: return "";
  }
}

struct File {
  explicit File(const std::string& path) : fd(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~File() {
    if (fd >= 0) close(fd);
  }
  const int fd;
};

std::string read_header(int fd, int64_t file_bytes, const std::string& path) {
  unsigned char length[8];
  if (pread(fd, length, 8, 0) != 8) fail(dinoml_damaged, path, ": too short for a safetensors file");
  uint64_t bytes = 0;
  for (int i = 7; i >= 0; --i) bytes = bytes << 8 | length[i];
  if (bytes > static_cast<uint64_t>(file_bytes - 8)) fail(dinoml_damaged, path, ": its header is longer than the file");
  std::string header(bytes, 0);
  for (size_t at = 0; at < bytes;) {
    const ssize_t got = pread(fd, header.data() + at, bytes - at, static_cast<off_t>(8 + at));
    if (got <= 0) fail(dinoml_io_error, path, ": ", strerror(errno));
    at += static_cast<size_t>(got);
  }
  return header;
}

// Returns the offset of the tensor within the file.
int64_t check_entry(const json::Value& entry, const TensorDesc& tensor, int64_t data_begin, int64_t file_bytes, const std::string& path) {
  const std::vector<json::Value>& shape = entry.at("shape").items();
  bool same = entry.at("dtype").text() == safetensors_dtype(tensor.dtype) && shape.size() == static_cast<size_t>(tensor.ndim);
  for (int32_t i = 0; same && i < tensor.ndim; ++i) same = shape[static_cast<size_t>(i)].number() == tensor.axes[i].value;
  if (!same) fail(dinoml_damaged, path, ": \"", tensor.name, "\" has another dtype or shape than the module expects");
  const std::vector<json::Value>& range = entry.at("data_offsets").items();
  if (range.size() != 2) fail(dinoml_damaged, path, ": \"", tensor.name, "\" has no data_offsets");
  const int64_t begin = range[0].number(), end = range[1].number();
  if (begin < 0 || end - begin != tensor.nbytes || end > file_bytes - data_begin)
    fail(dinoml_damaged, path, ": \"", tensor.name, "\" lies outside the file or has the wrong size");
  if ((data_begin + begin) % kAlignment != 0) fail(dinoml_damaged, path, ": \"", tensor.name, "\" is not 64-byte aligned");
  return data_begin + begin;
}

// Offsets of all stored constants, -1 for those that the file lacks.
std::vector<int64_t> read_offsets(const ModuleDesc& desc, int fd, int64_t file_bytes, const std::string& path) {
  const std::string text = read_header(fd, file_bytes, path);
  const int64_t data_begin = 8 + static_cast<int64_t>(text.size());
  std::vector<int64_t> offsets(static_cast<size_t>(desc.n_stored), -1);
  try {
    const json::Value header = json::parse(text);
    std::vector<std::pair<std::string_view, const json::Value*>> entries;
    for (const json::Value::Member& member : header.members())
      if (member.first != "__metadata__" && member.first.compare(0, kFiller.size(), kFiller) != 0)
        entries.emplace_back(member.first, &member.second);
    std::sort(entries.begin(), entries.end());
    size_t known = 0;
    for (int32_t i = 0; i < desc.n_stored; ++i) {
      const TensorDesc& tensor = desc.stored[i].tensor;
      const std::string_view name = tensor.name;
      const auto found =
          std::lower_bound(entries.begin(), entries.end(), name, [](const auto& entry, std::string_view n) { return entry.first < n; });
      if (found == entries.end() || found->first != name) continue;
      offsets[static_cast<size_t>(i)] = check_entry(*found->second, tensor, data_begin, file_bytes, path);
      ++known;
    }
    if (known != entries.size()) fail(dinoml_damaged, path, ": holds tensors that are not constants of this module");
  } catch (const json::Error& error) { fail(dinoml_damaged, path, ": its header is not valid: ", error.what()); }
  return offsets;
}

}  // namespace

Constants::Constants(const ModuleDesc& desc, std::string path)
    : desc_(desc), path_(std::move(path)), slots_(static_cast<size_t>(desc.n_stored)) {}

Constants::~Constants() { unload(); }

void Constants::load() {
  if (slots_.empty()) return;
  const File file(path_);
  if (file.fd < 0) fail(errno == ENOENT ? dinoml_damaged : dinoml_io_error, path_, ": ", strerror(errno));
  struct stat info;
  if (fstat(file.fd, &info) != 0) fail(dinoml_io_error, path_, ": ", strerror(errno));
  if (info.st_size < 8) fail(dinoml_damaged, path_, ": too short for a safetensors file");
  const std::vector<int64_t> offsets = read_offsets(desc_, file.fd, info.st_size, path_);
  // Mapped read-only: with write access MAP_POPULATE would copy every page.
  void* const map = mmap(nullptr, static_cast<size_t>(info.st_size), PROT_READ, MAP_PRIVATE | MAP_POPULATE, file.fd, 0);
  if (map == MAP_FAILED) fail(dinoml_io_error, path_, ": cannot be mapped: ", strerror(errno));
  unload();
  map_ = map;
  map_bytes_ = static_cast<size_t>(info.st_size);
  take_from(static_cast<unsigned char*>(map), offsets);
}

void Constants::take_from(unsigned char* base, const std::vector<int64_t>& offsets) {
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (offsets[i] < 0) continue;
    slots_[i].data = base + offsets[i];
    slots_[i].loaded = slots_[i].mapped = true;
  }
  ++generation_;
}

void Constants::unload() noexcept {
  for (Slot& slot : slots_) {
    slot.own.release();
    slot.data = nullptr;
    slot.loaded = slot.mapped = false;
  }
  if (map_) munmap(map_, map_bytes_);
  map_ = nullptr;
  map_bytes_ = 0;
  ++generation_;
}

void Constants::write(const std::vector<Value>& values) {
  const uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  std::vector<std::pair<void*, size_t>> opened;
  for (const Value& value : values) {
    Slot& slot = slots_[static_cast<size_t>(value.stored)];
    const TensorDesc& tensor = desc_.stored[value.stored].tensor;
    if (!slot.mapped) {
      if (slot.own.reserve(std::max<int64_t>(tensor.nbytes, 1), "constants") || slot.data != slot.own.data()) {
        slot.data = slot.own.data();
        ++generation_;
      }
      continue;
    }
    const uintptr_t begin = reinterpret_cast<uintptr_t>(slot.data) / page * page;
    const uintptr_t end = reinterpret_cast<uintptr_t>(slot.data) + static_cast<uintptr_t>(tensor.nbytes);
    if (end == begin) continue;
    if (mprotect(reinterpret_cast<void*>(begin), end - begin, PROT_READ | PROT_WRITE) != 0)
      fail(dinoml_out_of_memory, "constant \"", tensor.name, "\" cannot be made writable: ", strerror(errno));
    opened.emplace_back(reinterpret_cast<void*>(begin), end - begin);
  }
  for (const Value& value : values) {
    Slot& slot = slots_[static_cast<size_t>(value.stored)];
    if (desc_.stored[value.stored].tensor.nbytes > 0)
      memcpy(slot.data, value.data, static_cast<size_t>(desc_.stored[value.stored].tensor.nbytes));
    slot.loaded = true;
  }
  for (const auto& [address, bytes] : opened) mprotect(address, bytes, PROT_READ);
}

const char* Constants::first_unset() const {
  for (size_t i = 0; i < slots_.size(); ++i)
    if (!slots_[i].loaded) return desc_.stored[i].tensor.name;
  return nullptr;
}

}  // namespace dinoml::rt
