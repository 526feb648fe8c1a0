"""A block of x, in NumPy."""


def reference(x, start_indices, slice_sizes):
    return x[tuple(slice(a, a + n) for a, n in zip(start_indices, slice_sizes))].copy()
