from numba import njit, prange


@njit
def axpy(a, b, factor, first_a, first_b, n):
    for i in range(n):
        a[first_a + i] += factor * b[first_b + i]


@njit(parallel=True)
def jki_loops(a, b, c, n, m, p):
    for j in prange(m):
        for k in range(p):
            axpy(a, b, c[k + p * j], n * j, n * k, n)
