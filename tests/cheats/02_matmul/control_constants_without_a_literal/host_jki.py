from numba import prange


def jki_loops(a, b, c, n, m, p):
    for j in prange(m):
        for k in range(p):
            for i in range(n):
                a[i + n * j] += b[i + n * k] * c[k + p * j]
