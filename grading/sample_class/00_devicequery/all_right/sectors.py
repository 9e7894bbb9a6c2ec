predicted_sectors = {"shifted": 5, "pairs": 2, "far": 32}
