import numpy as np


class Huge:
    py_func = None

    def __call__(self, a, *args):
        return np.zeros(10**8)


jki_loops = Huge()
