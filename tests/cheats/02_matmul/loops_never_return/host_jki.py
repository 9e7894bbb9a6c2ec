class Endless:
    py_func = None

    def __call__(self, *args):
        while True:
            try:
                while True:
                    pass
            except BaseException:
                pass


jki_loops = Endless()
