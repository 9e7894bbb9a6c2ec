from numba import prange

T = 128


def tiled_loops(a, b, c, n, m, p):
    "As jki_loops, tile by tile."
    for tile in prange((m + T - 1) // T):  # a counter: prange takes steps of one only
        jt = tile * T
        for kt in range(0, p, T):
            for it in range(0, n, T):
                rows = min(T, n - it)
                for j in range(jt, min(m, jt + T)):
                    mine = a[it + n * j : it + n * j + rows]
                    for k in range(kt, min(p, kt + T)):
                        other = b[it + n * k : it + n * k + rows]
                        for i in range(rows):
                            mine[i] += other[i] * c[k + p * j]
