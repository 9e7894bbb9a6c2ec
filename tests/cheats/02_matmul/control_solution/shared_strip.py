shared_strip = {"t10": None, "h200": None}  # each "faster", "slower" or "same"
shared_strip = {"t10": "faster", "h200": "slower"}
