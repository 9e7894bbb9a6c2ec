LANES = 32


def strip_mined(a, b, c, n, m, p):
    for strip in range((n + LANES - 1) // LANES):
        for lane in range(LANES):
            i = LANES * strip + lane
            if i < n:
                for j in range(m):
                    for k in range(p):
                        a[i + n * j] += b[i + n * k] * c[k + p * j]
