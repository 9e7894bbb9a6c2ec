predicted_sectors = {"shifted": 1, "pairs": 1, "far": 1}
