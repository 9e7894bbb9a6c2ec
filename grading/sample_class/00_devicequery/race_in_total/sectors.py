predicted_sectors = {"shifted": 4, "pairs": 2, "far": 32}
