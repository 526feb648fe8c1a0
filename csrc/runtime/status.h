// How the runtime fails: code throws Failure, the C ABI turns it into a status and a text per thread.
#pragma once
#include <stdint.h>

#include <exception>
#include <new>
#include <string>

#include "dinoml/dinoml.h"

namespace dinoml::rt {

struct Failure {
  dinoml_status status;
  std::string message;
};

inline void append(std::string& out, const std::string& part) { out += part; }
inline void append(std::string& out, const char* part) { out += part; }
inline void append(std::string& out, int64_t part) { out += std::to_string(part); }

template <class... Parts> std::string join(const Parts&... parts) {
  std::string out;
  (append(out, parts), ...);
  return out;
}

template <class... Parts> [[noreturn]] void fail(dinoml_status status, const Parts&... parts) { throw Failure{status, join(parts...)}; }

inline std::string shape_text(const int64_t* shape, int32_t ndim) {
  std::string out = "[";
  for (int32_t i = 0; i < ndim; ++i) out += (i ? ", " : "") + std::to_string(shape[i]);
  return out + "]";
}

// A fixed buffer, because a thread_local with a destructor would pin the library in memory after dlclose.
void set_last_error(const char* text) noexcept;
const char* last_error() noexcept;

template <class Body> dinoml_status guarded(Body&& body) noexcept {
  try {
    body();
    return dinoml_ok;
  } catch (const Failure& failure) {
    set_last_error(failure.message.c_str());
    return failure.status;
  } catch (const std::bad_alloc&) {
    set_last_error("out of memory");
    return dinoml_out_of_memory;
  } catch (const std::exception& error) {
    set_last_error(error.what());
    return dinoml_internal;
  }
}

}  // namespace dinoml::rt
