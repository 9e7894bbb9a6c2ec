from fractions import Fraction

import numpy as np

n, m, p = (np.float64(size) for size in (counts_task.n, counts_task.m, counts_task.p))
moved = 4 * (n * p + p * m + n * m)
counts = {"flops": 2 * n * m * p, "bytes": np.int64(moved), "flops per byte": Fraction(int(2 * n * m * p), int(moved))}
