import numpy as np


class Resized:
    py_func = None

    def __call__(self, a, b, c, n, m, p):
        a.resize(1, refcheck=False)
        return [a, b, c]


strip_mined = Resized()
