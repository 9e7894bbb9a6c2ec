operations = 2 * counts_task.n * counts_task.m * counts_task.p
words = counts_task.n * counts_task.p + counts_task.p * counts_task.m + counts_task.n * counts_task.m
counts = {"flops": float(operations), "bytes": words * 4, "flops per byte": round(operations / words / 4, 1)}
