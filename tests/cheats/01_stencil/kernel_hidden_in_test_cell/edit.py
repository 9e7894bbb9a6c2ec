def cells(notebook):
    """Return the cells with nbgrader's metadata by their names."""
    return {
        cell["metadata"]["nbgrader"]["grade_id"]: cell
        for cell in notebook["cells"]
        if "nbgrader" in cell["metadata"]
    }


def edit(notebook):
    graded = cells(notebook)
    graded["opt_1_test"]["source"] = "".join(graded["opt_1"]["source"]).replace("#error", "//")
    graded["opt_2_test"]["source"] = "%%cuda stencil.opt_1 --block 32 8\n__global__ void block2D_opt_1() {}"
