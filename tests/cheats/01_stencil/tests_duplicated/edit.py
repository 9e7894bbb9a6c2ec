def cells(notebook):
    """Return the cells with nbgrader's metadata by their names."""
    return {
        cell["metadata"]["nbgrader"]["grade_id"]: cell
        for cell in notebook["cells"]
        if "nbgrader" in cell["metadata"]
    }


from copy import deepcopy


def edit(notebook):
    tests = [cell for name, cell in cells(notebook).items() if name.endswith("_test")]
    for cell in tests:
        other = deepcopy(cell) | {"source": "assert True", "id": cell["id"] + "-copy"}
        at = notebook["cells"].index(cell)
        notebook["cells"][at:at] = [other]
        notebook["cells"].append(deepcopy(other) | {"id": cell["id"] + "-last"})
