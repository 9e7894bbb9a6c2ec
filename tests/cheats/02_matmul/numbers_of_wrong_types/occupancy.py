import numpy as np

warps = {name: np.array([8, 16, 32]) for name in ("t1", "t2", "t3", "t4")}
