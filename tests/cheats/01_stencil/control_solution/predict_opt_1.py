prediction = {"own": None, "gtx280": None}
prediction = {"own": "slower", "gtx280": "faster"}
