import numpy as np

warps = {f"{t} threads": w for t, w in zip((32, 64, 128, 256), np.minimum(8 * np.array([1, 2, 4, 8]), 32))}
