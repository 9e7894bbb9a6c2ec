unrolling = {"ratio": None, "instructions": None}  # each a number, rolled divided by unrolled
unrolling = {"ratio": 3, "instructions": 2}
