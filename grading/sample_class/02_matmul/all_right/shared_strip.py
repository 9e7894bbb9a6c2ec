shared_strip = {"t10": "Faster", "h200": "same"}
