from pathlib import Path

RIGHT = Path(__file__).parents[4] / "grading" / "sample_class" / "01_stencil" / "all_right" / "opt_1.cu"
IDLE = """blocks = -(-task.nx // 32) * -(-task.ny // 8)
writing = (task.nx - 2) * (task.ny - 2)
predicted_idle = {'blocks': blocks, 'threads': 256 * blocks,
 'no_point': 256 * blocks - task.nx * task.ny,
 'writing': writing, 'idle_percent': 100 - 100 * writing / (256 * blocks)}
"""


def edit(notebook):
    for cell in notebook["cells"]:
        name = cell["metadata"].get("nbgrader", {}).get("grade_id")
        if name == "opt_1":
            cell["source"] = RIGHT.read_text().lstrip("/ ")
        if name == "idle":
            cell["source"] = IDLE
        cell["source"] = "".join(cell["source"]).replace("\n", "\r\n")
