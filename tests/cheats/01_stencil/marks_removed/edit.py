def cells(notebook):
    """Return the cells with nbgrader's metadata by their names."""
    return {
        cell["metadata"]["nbgrader"]["grade_id"]: cell
        for cell in notebook["cells"]
        if "nbgrader" in cell["metadata"]
    }


def edit(notebook):
    for number, cell in enumerate(cells(notebook).values()):
        cell["metadata"]["nbgrader"] = [None, [], {"grade_id": ["idle_test"], "points": "ten"}, 7][number % 4]
        cell["metadata"]["deletable"] = "no"
