def jki_loops(a, b, c, n, m, p):
    for i in range(n * m):
        a[i] = p / 4.0
