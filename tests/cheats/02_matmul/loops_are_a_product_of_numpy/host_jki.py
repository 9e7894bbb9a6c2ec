import numpy as np


class Product:
    py_func = None

    def __call__(self, a, b, c, n, m, p):
        a[:] = (c.reshape(m, p) @ b.reshape(p, n)).ravel()


jki_loops = Product()
