// Reading an artifact folder without running any of its code: manifest.json, versions, CPU features, digests of files.
// The manifest's keys are documented in dinoml/artifact/manifest.py, its only writer.
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "dinoml/cpu_features.hpp"
#include "dinoml/digest.hpp"
#include "dinoml/dinoml.h"
#include "dinoml/json.hpp"

namespace dinoml {

class Error : public std::runtime_error {
 public:
  Error(dinoml_status status, const std::string& message) : std::runtime_error(message), status_(status) {}
  dinoml_status status() const { return status_; }

 private:
  dinoml_status status_;
};

constexpr int64_t kFormatVersion = 1;
constexpr const char* kConstantsFile = "constants.safetensors";

// fast: SHA-256 of code and JSON, the fast hash of constants. full: SHA-256 of everything.
enum class Verify { fast, full };

// A whole file, mapped read-only.
class FileView {
 public:
  explicit FileView(const std::string& path) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) throw Error(errno == ENOENT || errno == ENOTDIR ? dinoml_damaged : dinoml_io_error, path + ": " + strerror(errno));
    struct stat info;
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode))
      bytes_ = static_cast<size_t>(info.st_size);
    else
      errno = EISDIR;
    if (bytes_ > 0) data_ = mmap(nullptr, bytes_, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
    const int problem = errno;
    close(fd);
    if (data_ == MAP_FAILED || (bytes_ == 0 && !S_ISREG(info.st_mode))) {
      data_ = nullptr;
      throw Error(dinoml_io_error, path + ": cannot be read: " + strerror(problem));
    }
  }
  ~FileView() {
    if (data_) munmap(data_, bytes_);
  }
  FileView(const FileView&) = delete;
  FileView& operator=(const FileView&) = delete;

  const char* data() const { return static_cast<const char*>(data_); }
  size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

inline std::string fast_hash(const void* data, size_t bytes) {
  FastHash hash;
  hash.update(data, bytes);
  return hash.finish();
}

struct FileRecord {
  std::string name;
  int64_t bytes = 0;
  std::string sha256;
  std::string fast_hash;  // empty: checked by sha256 only
};

struct Manifest {
  std::string name, target, arch, digest, module_digest;
  std::vector<std::string> features;
  bool deferred_constants = false;
  std::vector<FileRecord> files;
  json::Value document;
};

namespace detail {

[[noreturn]] inline void damaged(const std::string& path, const std::string& why) {
  throw Error(dinoml_damaged, path + ": the artifact is damaged: " + why + ". Compile it again or restore the folder");
}

// A manifest without its version or with another one is not damaged, but not ours to read.
inline void check_versions(const json::Value& document, const std::string& path) {
  const json::Value* format = document.kind == json::Value::Kind::object ? document.find("format_version") : nullptr;
  if (!format || format->kind != json::Value::Kind::integer || !document.find("abi_version"))
    throw Error(dinoml_unsupported_version, path + ": not the manifest of a DinoML artifact (format_version is missing)");
  if (format->integer != kFormatVersion)
    throw Error(dinoml_unsupported_version, path + ": artifact format " + std::to_string(format->integer) +
                                                ", but this runtime reads format " + std::to_string(kFormatVersion) +
                                                ". Upgrade dinoml, or compile the model again with this version");
  const int64_t abi = document.at("abi_version").number();
  if (abi != DINOML_ABI_VERSION)
    throw Error(dinoml_unsupported_version, path + ": module ABI " + std::to_string(abi) + ", but this runtime speaks ABI " +
                                                std::to_string(DINOML_ABI_VERSION) +
                                                ". Upgrade dinoml, or compile the model again with this version");
}

inline void check_own_digest(const json::Value& document, const std::string& path) {
  json::Value rest = document;
  for (size_t i = 0; i < rest.object.size(); ++i) {
    if (rest.object[i].first != "digest") continue;
    rest.object.erase(rest.object.begin() + static_cast<std::ptrdiff_t>(i));
    break;
  }
  const std::string text = json::canonical(rest);
  if (sha256(text.data(), text.size()) != document.at("digest").text()) damaged(path, "its contents do not match its own digest");
}

inline FileRecord file_record(const std::string& name, const json::Value& value) {
  if (name.empty() || name[0] == '/' || name.find("..") != std::string::npos)
    throw json::Error("file name \"" + name + "\" leaves the folder");
  FileRecord out;
  out.name = name;
  out.bytes = value.at("bytes").number();
  out.sha256 = value.at("sha256").text();
  if (const json::Value* fast = value.find("fast_hash")) out.fast_hash = fast->text();
  return out;
}

}  // namespace detail

// Throws Error when the manifest is missing, foreign, newer, or not what was written.
inline Manifest read_manifest(const std::string& directory) {
  const std::string path = directory + "/manifest.json";
  Manifest out;
  try {
    const FileView file(path);
    out.document = json::parse({file.data(), file.bytes()});
    const json::Value& d = out.document;
    detail::check_versions(d, path);
    detail::check_own_digest(d, path);
    out.name = d.at("name").text();
    out.digest = d.at("digest").text();
    out.module_digest = d.at("module_digest").text();
    out.target = d.at("target").at("name").text();
    out.arch = d.at("target").at("arch").text();
    for (const json::Value& feature : d.at("target").at("features").items()) out.features.push_back(feature.text());
    out.deferred_constants = d.at("constants").at("policy").text() == "deferred";
    for (const json::Value::Member& file_entry : d.at("files").members())
      out.files.push_back(detail::file_record(file_entry.first, file_entry.second));
  } catch (const json::Error& error) {
    detail::damaged(path, std::string("it is not valid: ") + error.what());
  } catch (const Error& error) {
    if (error.status() != dinoml_damaged || strstr(error.what(), "damaged")) throw;
    throw Error(dinoml_damaged, std::string(error.what()) + ". The folder is not a DinoML artifact, or its manifest is lost");
  }
  return out;
}

inline void check_cpu(const Manifest& manifest, const std::string& directory) {
  if (manifest.target != "cpu") return;
  const std::vector<std::string> missing = missing_cpu_features(manifest.features);
  if (missing.empty()) return;
  std::string list;
  for (const std::string& name : missing) list += (list.empty() ? "" : ", ") + name;
  throw Error(dinoml_missing_cpu_feature, directory + ": compiled for CPU features that this machine lacks: " + list +
                                              ". Compile for it with Target(\"cpu\", arch=...) set to what it has");
}

inline void verify_file(const std::string& directory, const FileRecord& record, Verify verify) {
  const FileView file(directory + "/" + record.name);
  const std::string path = directory + "/" + record.name;
  if (static_cast<int64_t>(file.bytes()) != record.bytes)
    detail::damaged(path, "it has " + std::to_string(file.bytes()) + " bytes, expected " + std::to_string(record.bytes));
  const bool fast = verify == Verify::fast && !record.fast_hash.empty();
  const std::string found = fast ? fast_hash(file.data(), file.bytes()) : sha256(file.data(), file.bytes());
  if (found != (fast ? record.fast_hash : record.sha256)) detail::damaged(path, "its contents are not what was written (digest differs)");
}

// Checks all files that the manifest lists, the constants only when `constants` says so (deferred ones are checked when loaded).
inline void verify_files(const std::string& directory, const Manifest& manifest, Verify verify, bool constants) {
  for (const FileRecord& record : manifest.files)
    if (constants || record.name != kConstantsFile) verify_file(directory, record, verify);
}

}  // namespace dinoml
