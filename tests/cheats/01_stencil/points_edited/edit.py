def cells(notebook):
    """Return the cells with nbgrader's metadata by their names."""
    return {
        cell["metadata"]["nbgrader"]["grade_id"]: cell
        for cell in notebook["cells"]
        if "nbgrader" in cell["metadata"]
    }


def edit(notebook):
    for cell in cells(notebook).values():
        cell["metadata"]["nbgrader"].update(points=100, grade=True, locked=True)
