def cells(notebook):
    """Return the cells with nbgrader's metadata by their names."""
    return {
        cell["metadata"]["nbgrader"]["grade_id"]: cell
        for cell in notebook["cells"]
        if "nbgrader" in cell["metadata"]
    }


def edit(notebook):
    tests = [cell for name, cell in cells(notebook).items() if name.endswith("_test")]
    notebook["cells"] = [cell for cell in notebook["cells"] if cell not in tests]
