case = {"line": "9", "row": [7], "column": True, "outcome": 0}
