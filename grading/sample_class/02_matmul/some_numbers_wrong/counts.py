n, m, p = counts_task.n, counts_task.m, counts_task.p
moved = 4 * (n * p + p * m + n * m)
counts = {"flops": n * m * p, "bytes": moved, "flops per byte": 2 * n * m * p / moved}
