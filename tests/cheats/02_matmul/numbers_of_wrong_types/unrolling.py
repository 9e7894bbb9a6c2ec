unrolling = {"ratio": "three", "instructions": float("nan")}
