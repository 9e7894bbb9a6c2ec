case_1 = {"line": None, "order": None}
case_1 = {"line": "C", "order": "A of the next round writes before C of this round has read"}
