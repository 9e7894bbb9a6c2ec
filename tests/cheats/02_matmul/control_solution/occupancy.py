warps = {"32 threads": None, "64 threads": None, "128 threads": None, "256 threads": None}
warps = {f"{threads} threads": min(8, 32 // (threads // 32)) * threads // 32 for threads in (32, 64, 128, 256)}
