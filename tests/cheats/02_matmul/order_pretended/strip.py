def strip_mined(a, b, c, n, m, p):
    for is_ in range(0, n, 32):
        for i in range(is_, min(is_ + 32, n)):
            for j in range(m):
                for k in range(p):
                    a[i + n * j] += 0 * b[i + n * k] * c[k + p * j]
    for j in range(m):
        for k in range(p):
            for i in range(n):
                a[i + n * j] += b[i + n * k] * c[k + p * j]
