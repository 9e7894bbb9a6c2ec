from numba import prange


def interchanged(a, b, c, n, m, p):
    strips = -(-n // 32)
    for s in prange(strips):
        last = n if s == strips - 1 else 32 * s + 32
        for j in range(m):
            column = n * j
            for i in range(32 * s, last):
                for k in range(p):
                    a[i + column] = a[i + column] + b[i + n * k] * c[k + p * j]
