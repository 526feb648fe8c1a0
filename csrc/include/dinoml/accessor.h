// What generated accessors use besides values: integer division that rounds down and run-time indices that cannot leave their extent.
#pragma once
#include "dinoml/math.h"
#include "dinoml/parallel.h"
#include "dinoml/vec.h"

namespace dml {

DML_FN i64 floor_div_i64(i64 a, i64 b) { return a / b - ((a % b != 0) && ((a < 0) != (b < 0))); }
DML_FN i64 floor_mod_i64(i64 a, i64 b) { return a - floor_div_i64(a, b) * b; }

// A run-time index, clamped into [0, extent); a miss is reported for the operand whose values index.
DML_FN i64 checked_index(i64 index, i64 extent, uint32_t* error, uint32_t operand) {
  if (index >= 0 && index < extent) return index;
  report(error, dml_error_index, operand);
  return index < 0 || extent <= 0 ? 0 : extent - 1;
}

}  // namespace dml
