predicted_occupancy = {'blocks': 5, 'percent': 54.6875, 'best': 256, 'percent_best': 62.5}
