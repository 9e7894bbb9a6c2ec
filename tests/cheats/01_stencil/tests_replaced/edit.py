def cells(notebook):
    """Return the cells with nbgrader's metadata by their names."""
    return {
        cell["metadata"]["nbgrader"]["grade_id"]: cell
        for cell in notebook["cells"]
        if "nbgrader" in cell["metadata"]
    }


def edit(notebook):
    for number, (name, cell) in enumerate(cells(notebook).items()):
        if name.endswith("_test"):
            cell["source"] = "15" if number % 2 else "assert True"
