def edit(notebook):
    headers = iter([
        "%%cuda stencil.opt_1 --block 32 8 -I/etc --pre-include=/etc/passwd",
        "%%cuda stencil.opt_2 --block 32 8;id --tile 1 1 0",
        "%%cuda stencil.opt_3 --block 99999999 99999999 99999999",
        "%%cuda ../../etc/passwd --block 32 8",
    ])
    for cell in notebook["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("grade_id") in ("opt_1", "opt_2", "opt_3", "opt_4"):
            cell["source"] = next(headers) + "\n__global__ void f() {}"
