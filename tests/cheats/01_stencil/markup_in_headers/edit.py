def cells(notebook):
    """Return the cells with nbgrader's metadata by their names."""
    return {
        cell["metadata"]["nbgrader"]["grade_id"]: cell
        for cell in notebook["cells"]
        if "nbgrader" in cell["metadata"]
    }


def edit(notebook):
    graded = cells(notebook)
    for name, header in {
        "opt_1": "%%cuda <img/src=x/onerror=alert(1)> --block 32 8",
        "opt_2": "%%cuda stencil.opt_2 --block <script>alert(1)</script>",
        "opt_3": "%%cuda stencil.<script>alert(1)</script>",
        "opt_4": r"%%cuda stencil.opt_4 --$\href{javascript:alert(1)}{x}$ 'open",
    }.items():
        graded[name]["source"] = header + "\n__global__ void f() {}"
