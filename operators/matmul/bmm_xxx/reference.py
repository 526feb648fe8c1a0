"""A batched matrix product, in NumPy."""

import numpy as np


def reference(a, b, d0, layout, a_layout, b_layout, c_layout):
    x, y, z = layout or a_layout + b_layout + c_layout
    left = {"r": "bmk", "c": "bkm"}[x]
    right = {"r": "bkn", "c": "bnk"}[y]
    out = np.einsum(f"{left},{right}->{'bmn' if z == 'r' else 'bnm'}", a, b)
    return out if d0 is None else out + d0
