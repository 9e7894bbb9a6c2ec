case = {"line": None, "row": None, "column": None, "outcome": None}
# outcome: "it reads other elements of B" or "it also reads past the end of B"
row, column = divmod(5 * 48, 32)
case = {"line": 9, "row": row, "column": column, "outcome": "it also reads past the end of B"}
