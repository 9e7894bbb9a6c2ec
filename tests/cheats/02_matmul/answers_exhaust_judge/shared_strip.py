shared_strip = {"t10": "faster" * 10**6, "h200": ["faster"]}
