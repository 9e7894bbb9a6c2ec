def interchanged(a, b, c, n, m, p):
    "is_ and j outside, then i within the strip, and k innermost."
    for is_ in range(0, n, 32):
        for j in range(m):
            for i in range(is_, min(is_ + 32, n)):
                for k in range(p):
                    a[i + n * j] += b[i + n * k] * c[k + p * j]
