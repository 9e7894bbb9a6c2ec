def edit(notebook):
    graded = {cell["metadata"].get("nbgrader", {}).get("grade_id"): cell for cell in notebook["cells"]}
    graded["axpy"]["source"] = "%%cuda total\n__global__ void total(const int* x, int n, int* sum) { *sum = 7; }"
    graded["total"]["source"] = "%%cuda stencil.naive\n__global__ void block2D_naive() {}"
