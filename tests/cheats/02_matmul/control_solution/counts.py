counts = {"flops": None, "bytes": None, "flops per byte": None}
n, m, p = counts_task.n, counts_task.m, counts_task.p
flops, moved = 2 * n * m * p, 4 * (n * p + p * m + n * m)
counts = {"flops": flops, "bytes": moved, "flops per byte": flops / moved}
