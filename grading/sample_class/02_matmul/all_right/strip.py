def strip_mined(a, b, c, n, m, p):
    for strip in range((n + 31) // 32):
        for lane in range(32):
            i = 32 * strip + lane
            if i < n:
                for j in range(m):
                    for k in range(p):
                        a[n * j + i] += b[n * k + i] * c[p * j + k]
