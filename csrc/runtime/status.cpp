#include "status.h"

#include <string.h>

namespace dinoml::rt {
namespace {
thread_local char text_of_thread[2048];
}

void set_last_error(const char* text) noexcept {
  strncpy(text_of_thread, text, sizeof text_of_thread - 1);
  text_of_thread[sizeof text_of_thread - 1] = 0;
}

const char* last_error() noexcept { return text_of_thread; }

}  // namespace dinoml::rt
