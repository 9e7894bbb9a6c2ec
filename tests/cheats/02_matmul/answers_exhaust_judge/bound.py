bound = {"gwords": float("inf"), "words": float("-inf"), "flops": 1e308, "K1 bound": -1e308, "tile bound": 5e-324}
bound["lecture"] = bound
