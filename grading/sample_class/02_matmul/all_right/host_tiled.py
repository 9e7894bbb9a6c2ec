SIDE = 64


def tiled_loops(a, b, c, n, m, p):
    for j0 in range(0, m, SIDE):
        for k0 in range(0, p, SIDE):
            for i0 in range(0, n, SIDE):
                for j in range(j0, min(j0 + SIDE, m)):
                    for k in range(k0, min(k0 + SIDE, p)):
                        for i in range(i0, min(i0 + SIDE, n)):
                            a[i + n * j] += b[i + n * k] * c[k + p * j]
