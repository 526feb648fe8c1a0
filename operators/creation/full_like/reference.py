"""A tensor filled like x, in NumPy."""

import numpy as np


def reference(x, fill_value, dtype):
    kind = {"bool": np.bool_, "int32": np.int32, "int64": np.int64, None: x.dtype}.get(dtype, np.float64)
    return np.full(x.shape, fill_value, kind)
