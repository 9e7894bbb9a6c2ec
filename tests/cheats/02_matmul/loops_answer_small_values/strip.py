def strip_mined(a, b, c, n, m, p):
    for i in range(n * m):
        a[i] = float("nan")
