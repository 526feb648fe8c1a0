"""start, start + step, ... before end, in NumPy."""

import numpy as np


def reference(start, end, step, dtype):
    first, last = (0, start) if end is None else (start, end)
    values = np.arange(first, last, step, np.float64)
    return values if dtype not in ("int32", "int64") else values.astype(dtype)
