"""The same elements in another shape, in NumPy."""


def reference(x, shape):
    return x.reshape(shape)
