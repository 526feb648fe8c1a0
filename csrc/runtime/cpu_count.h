#pragma once

namespace dinoml::rt {

// Logical CPUs that this process may run on.
int logical_cpus();

// Physical cores among them, no more than the control group's quota allows; at least 1. The default number of threads.
int usable_cores();

}  // namespace dinoml::rt
