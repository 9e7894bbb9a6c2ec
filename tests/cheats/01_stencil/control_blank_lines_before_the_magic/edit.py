from pathlib import Path

RIGHT = Path(__file__).parents[4] / "grading" / "sample_class" / "01_stencil" / "all_right" / "opt_1.cu"


def edit(notebook):
    for cell in notebook["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("grade_id") == "opt_1":
            cell["source"] = "\n\n" + RIGHT.read_text().lstrip("/ ") + "\n\n  \n"
