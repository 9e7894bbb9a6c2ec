import numpy as np

warps = {f"{threads} threads": np.array([8, 16, 32]) for threads in (32, 64, 128, 256)}
