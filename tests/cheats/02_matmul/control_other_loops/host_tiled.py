SIDE = 48


def tiled_loops(a, b, c, n, m, p):
    jt = 0
    while jt < m:
        kt = 0
        while kt < p:
            for j in range(jt, min(m, jt + SIDE)):
                for k in range(kt, min(p, kt + SIDE)):
                    factor = c[k + p * j]
                    for i in range(n):
                        a[i + n * j] += factor * b[i + n * k]
            kt += SIDE
        jt += SIDE
