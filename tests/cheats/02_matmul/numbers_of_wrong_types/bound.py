bound = [("gwords", 35.4), ("words", 17)]
