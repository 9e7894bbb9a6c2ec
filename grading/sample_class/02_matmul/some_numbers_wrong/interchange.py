def interchanged(a, b, c, n, m, p):
    "Strip-mined, but the loop over j was not moved."
    for first in range(0, n, 32):
        for i in range(first, min(n, first + 32)):
            for j in range(m):
                for k in range(p):
                    a[n * j + i] += b[n * k + i] * c[p * j + k]
