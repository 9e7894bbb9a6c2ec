case_3 = {"line": None, "order": None}
case_3 = {"line": "C", "order": "E reads a row whose copy has not arrived"}
