class Raise:
    py_func = None

    def __call__(self, *args):
        raise NotImplementedError("<script>alert(1)</script>")


strip_mined = Raise()
