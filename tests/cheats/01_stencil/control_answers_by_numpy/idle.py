import numpy as np

extents = np.array([task.nx, task.ny])
block, grid = np.array([32, 8]), -(-extents // [32, 8])
threads = np.prod(grid) * np.prod(block)
writing = np.int64(np.prod(extents - 2))
predicted_idle = {
    "blocks": np.prod(grid),
    "threads": threads,
    "no_point": threads - np.int32(np.prod(extents)),
    "writing": np.array(writing),
    "idle_percent": np.float32(100) * (1 - writing / threads),
}
