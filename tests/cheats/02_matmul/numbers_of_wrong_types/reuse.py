bounds = type("Bounds", (dict,), {"get": lambda self, *args: 51.0})()
