predicted_occupancy = {"blocks": 77, "percent": 1, "best": 1, "percent_best": 1}
