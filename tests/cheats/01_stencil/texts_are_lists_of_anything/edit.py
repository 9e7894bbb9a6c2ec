def cells(notebook):
    """Return the cells with nbgrader's metadata by their names."""
    return {
        cell["metadata"]["nbgrader"]["grade_id"]: cell
        for cell in notebook["cells"]
        if "nbgrader" in cell["metadata"]
    }


def edit(notebook):
    for number, cell in enumerate(notebook["cells"]):
        if cell["cell_type"] == "code":
            cell["source"] = [[7, None, "15"], {"text": "15"}, 15, None, ["15\n", ["15"]]][number % 5]
