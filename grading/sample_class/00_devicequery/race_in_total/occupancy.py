predicted_occupancy = {"A": 100, "B": 75, "C": 25}
