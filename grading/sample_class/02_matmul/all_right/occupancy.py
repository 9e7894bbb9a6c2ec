warps = {"32 threads": 8, "64 threads": 16, "128 threads": 32, "256 threads": 32}
