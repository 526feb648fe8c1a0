"""x[start:stop:step] for each axis, in NumPy."""


def reference(x, start, stop, step):
    steps = step if step is not None else (1,) * x.ndim
    index = tuple(slice(a, None if b < 0 else b, s) for a, b, s in zip(start, stop, steps))
    return x[index].copy()
