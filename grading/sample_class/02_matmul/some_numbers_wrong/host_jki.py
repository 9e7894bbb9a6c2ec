from numba import prange


def jki_loops(a, b, c, n, m, p):
    "The middle loop walks over k, so that b is read along its columns."
    for j in prange(m):
        for k in range(p):
            factor = c[p * j + k]
            for i in range(n):
                a[n * j + i] += factor * b[n * k + i]
