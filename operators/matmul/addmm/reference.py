"""beta * input + alpha * (a @ b), in NumPy."""


def reference(input, a, b, beta, alpha):
    y = alpha * (a @ b)
    return y if beta == 0 else y + beta * input
