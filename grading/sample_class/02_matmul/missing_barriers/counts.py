n, m, p = counts_task.n, counts_task.m, counts_task.p
counts = {"flops": 2.0 * n * m * p, "bytes": 4 * (n * p + p * m + n * m)}
counts["flops per byte"] = counts["flops"] / counts["bytes"]
