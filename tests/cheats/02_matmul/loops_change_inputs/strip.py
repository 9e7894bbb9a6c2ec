def strip_mined(a, b, c, n, m, p):
    b[:] = 0.0
    a[:] = 0.0
