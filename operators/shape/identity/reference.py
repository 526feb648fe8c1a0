"""x itself, in NumPy."""


def reference(x):
    return x.copy()
