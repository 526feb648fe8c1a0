"""x converted to another dtype; float to integer truncates, anything to bool is x != 0, in NumPy."""

import ml_dtypes
import numpy as np

NARROW = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16}


def reference(x, dtype):
    if dtype == "bool":
        return x != 0
    if dtype in ("int32", "int64"):
        if x.dtype.kind != "f":
            return x.astype(dtype)
        limits = np.iinfo(dtype)  # out of range saturates, NaN becomes 0
        whole = np.where(np.isnan(x), 0.0, np.trunc(x))
        inside = np.where(np.abs(whole) < float(limits.max), whole, 0.0).astype(dtype)
        return np.where(whole >= float(limits.max), limits.max, np.where(whole <= float(limits.min), limits.min, inside)).astype(dtype)
    return x.astype(NARROW[dtype]).astype(np.float64) if dtype in NARROW else x.astype(np.float64)
