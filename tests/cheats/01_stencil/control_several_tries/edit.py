from copy import deepcopy
from pathlib import Path

RIGHT = Path(__file__).parents[4] / "grading" / "sample_class" / "01_stencil" / "all_right" / "opt_1.cu"


def edit(notebook):
    at = next(
        at
        for at, cell in enumerate(notebook["cells"])
        if cell["metadata"].get("nbgrader", {}).get("grade_id") == "opt_1"
    )
    notebook["cells"][at]["source"] = "%%cuda stencil.opt_1 --block 32 8\n__global__ void block2D_opt_1() { draft }"
    other = {"metadata": {}, "id": "second-try", "source": RIGHT.read_text().lstrip("/ ")}
    notebook["cells"].insert(at + 1, deepcopy(notebook["cells"][at]) | other)
