"""One axis split into several, in NumPy."""

import numpy as np


def reference(x, dim, sizes):
    known = int(np.prod([s for s in sizes if s != -1]))
    sizes = [x.shape[dim] // known if s == -1 else s for s in sizes]
    return x.reshape((*x.shape[:dim], *sizes, *x.shape[dim + 1 :]))
