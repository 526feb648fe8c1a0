"""The k largest or smallest elements, in NumPy."""

import numpy as np


def reference(x, k, dim, largest, sorted):
    moved = np.moveaxis(x, dim, -1)
    key = moved
    if moved.dtype.kind == "f":
        key = np.where(np.isnan(moved), np.inf, moved)
    nan = np.isnan(moved) if moved.dtype.kind == "f" else np.zeros(moved.shape, bool)
    order = np.empty(moved.shape, np.int64)
    for row in np.ndindex(moved.shape[:-1]):
        items = list(range(moved.shape[-1]))
        if largest:
            items.sort(key=lambda i: (not nan[row][i], -key[row][i], i))
        else:
            items.sort(key=lambda i: (nan[row][i], key[row][i], i))
        order[row] = items
    chosen = order[..., :k]
    values = np.take_along_axis(moved, chosen, axis=-1)
    return np.moveaxis(values, -1, dim), np.moveaxis(chosen, -1, dim)
