shared_strip = {"t10": "faster", "h200": None}
