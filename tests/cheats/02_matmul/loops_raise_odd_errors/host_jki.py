class Odd(Exception):
    def __str__(self):
        raise SystemExit(0)

    __repr__ = __str__


Odd.__name__ = "<img src=x onerror=alert(1)>" * 1000


class Raise:
    py_func = None

    def __call__(self, *args):
        raise Odd


jki_loops = Raise()
