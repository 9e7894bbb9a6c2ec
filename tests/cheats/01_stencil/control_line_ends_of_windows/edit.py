from pathlib import Path

RIGHT = Path(__file__).parents[4] / "grading" / "sample_class" / "01_stencil" / "all_right" / "opt_1.cu"


def edit(notebook):
    for cell in notebook["cells"]:
        name = cell["metadata"].get("nbgrader", {}).get("grade_id")
        if name == "opt_1":
            cell["source"] = RIGHT.read_text().lstrip("/ ")
        if name == "idle":
            cell["source"] = (
                "predicted_idle = {'blocks': 45, 'threads': 11520,\n 'no_point': 2420,\n"
                " 'writing': 8704, 'idle_percent': 24.44}"
            )
        cell["source"] = "".join(cell["source"]).replace("\n", "\r\n")
