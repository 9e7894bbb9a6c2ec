import numpy as np

block, grid = np.array([32, 8]), -(-np.array([130, 70]) // [32, 8])
threads = np.prod(grid) * np.prod(block)
writing = np.int64(128 * 68)
predicted_idle = {
    "blocks": np.prod(grid),
    "threads": threads,
    "no_point": threads - np.int32(130 * 70),
    "writing": np.array(writing),
    "idle_percent": np.float32(100) * (1 - writing / threads),
}
