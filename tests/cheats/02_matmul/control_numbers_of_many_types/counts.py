from fractions import Fraction

import numpy as np

flops = np.float64(2) * 4096**3
counts = {"flops": flops, "bytes": np.int64(3 * 4 * 4096**2), "flops per byte": Fraction(2 * 4096**3, 12 * 4096**2)}
