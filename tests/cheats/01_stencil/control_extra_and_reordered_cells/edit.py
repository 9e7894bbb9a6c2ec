def edit(notebook):
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code" or "nbgrader" in cell["metadata"]]
    first, rest = cells[:6], cells[6:]
    notebook["cells"] = first + rest[::-1]
