warps = []
for _ in range(10_000):
    warps = [warps]
