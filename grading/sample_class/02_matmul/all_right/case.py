case = {"line": 9, "row": 240 // 32, "column": 240 % 32, "outcome": "It also reads past the end of B"}
