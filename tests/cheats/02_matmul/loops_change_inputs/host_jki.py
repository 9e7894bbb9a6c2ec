def jki_loops(a, b, c, n, m, p):
    for k in range(len(b)):
        b[k] = 0.0
    for k in range(len(c)):
        c[k] = 0.0
