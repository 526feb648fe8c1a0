// A session: arena, scratch, states, threads. One thread at a time; prepared launches are kept per function and dims.
#pragma once
#include <stdint.h>
#include <sys/types.h>

#include <atomic>
#include <memory>
#include <vector>

#include "launch.h"
#include "memory.h"
#include "module.h"
#include "thread_pool.h"

namespace dinoml::rt {

class Session {
 public:
  Session(Module& module, int threads, bool debug);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  Module& module() { return module_; }
  dinoml_session_info info();
  void trim();
  void set_trace(dinoml_trace_fn callback, void* user);

  void infer_shapes(int32_t function, const dinoml_tensor* inputs, int32_t n_inputs, int64_t* shapes, int32_t count);
  void output_shapes(int32_t function, int64_t* shapes, int32_t count);

  struct Call {
    int32_t function;
    const dinoml_tensor* inputs;
    int32_t n_inputs;
    const dinoml_tensor* outputs;
    int32_t n_outputs;
  };
  void run(const Call& call);
  void benchmark(const Call& call, int32_t warmup, int32_t iterations, int64_t* run_ns, int64_t* step_ns);

  void get_state(const char* name, const dinoml_tensor& destination);
  void set_state(const char* name, const dinoml_tensor& source);
  void reset_states(const char* name);

 private:
  // Marks the session as in use; throws Failure(busy) when it is already.
  class Use {
   public:
    explicit Use(Session& session);
    ~Use();

   private:
    Session& session_;
  };

  struct FunctionState {
    std::vector<std::unique_ptr<Launch>> launches;  // least recently made first
    std::vector<int64_t> last_shapes;               // of the outputs of the last run; empty before it
  };

  Launch& prepare(int32_t function, const std::vector<int64_t>& dims);
  Launch& checked(const Call& call);
  void place(Launch& launch);
  void start(const Call& call, Launch& launch, int64_t* step_ns);
  void remember_shapes(const FunctionDesc& function, FunctionState& state, const Launch& launch);
  int32_t find_state(const char* name) const;
  void copy_shapes(const std::vector<int64_t>& from, int64_t* shapes, int32_t count) const;

  static constexpr size_t kLaunchesKept = 16;

  Module& module_;
  ThreadPool pool_;
  const bool debug_;
  std::atomic<pid_t> user_{0};  // the process that is inside; 0: none. A child forked during a run may take over
  std::vector<FunctionState> functions_;
  std::vector<int64_t> dims_, extents_;
  std::vector<Buffer> states_;
  Buffer arena_, scratch_;
  Memory memory_;
  uint64_t generation_ = 1;            // of memory_
  uint64_t constants_generation_ = 0;  // of the constants that memory_ points to
  uint32_t error_ = 0;
  dinoml_trace_fn trace_ = nullptr;
  void* trace_user_ = nullptr;
};

}  // namespace dinoml::rt
