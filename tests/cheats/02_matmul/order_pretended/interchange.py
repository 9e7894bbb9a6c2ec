def interchanged(a, b, c, n, m, p):
    for is_ in range(1):
        for i in range(m):
            for j in range(n):
                for k in range(p):
                    a[j + n * i] += b[j + n * k] * c[k + p * i]
