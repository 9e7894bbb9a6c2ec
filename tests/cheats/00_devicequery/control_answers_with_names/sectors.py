predicted_sectors = {"shifted": 4 + 1, "pairs": 64 / 32, "far": 32.0, "why": None}
