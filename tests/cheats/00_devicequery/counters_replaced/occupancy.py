predicted_occupancy = {"A": 1, "B": 1, "C": 1}
