def cells(notebook):
    """Return the cells with nbgrader's metadata by their names."""
    return {
        cell["metadata"]["nbgrader"]["grade_id"]: cell
        for cell in notebook["cells"]
        if "nbgrader" in cell["metadata"]
    }


def edit(notebook):
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code" and "%%cuda stencil.naive" in "".join(cell["source"]):
            cell["source"] = "%%cuda stencil.naive --block 32 8\n__global__ void block2D_naive(int n) {}"
