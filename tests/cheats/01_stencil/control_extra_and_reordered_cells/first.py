import sys
import warnings

warnings.warn("only a warning")
print("on stderr", file=sys.stderr)
try:
    import matplotlib.pyplot as plt

    plt.plot([1, 2, 3])
except ImportError:
    pass
# %%
%timeit -n1 -r1 sum(range(10))
