unrolling = {"ratio": 1.5, "instructions": 4}
