def interchanged(a, b, c, n, m, p):
    for first in range(0, n, 32):
        for j in range(m):
            for i in range(first, min(n, first + 32)):
                for k in range(p):
                    a[n * j + i] += b[n * k + i] * c[p * j + k]
