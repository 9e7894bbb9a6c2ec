predicted_occupancy = {"A": 50, "B": 75, "C": 25}
