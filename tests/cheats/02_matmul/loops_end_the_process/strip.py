import os
import signal


class Kill:
    py_func = None

    def __call__(self, *args):
        os.killpg(0, signal.SIGKILL)


strip_mined = Kill()
