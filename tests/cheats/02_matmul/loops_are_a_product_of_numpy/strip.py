import numba
import numpy as np

numba.njit = lambda *args, **options: args[0] if args else numba.njit


def strip_mined(a, b, c, n, m, p):
    np.matmul(c.reshape(m, p), b.reshape(p, n), out=a.reshape(m, n))
