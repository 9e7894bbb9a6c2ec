def edit(notebook):
    notebook["metadata"] = {}
    notebook["nbformat_minor"] = 4
    for cell in notebook["cells"]:
        cell.pop("id", None)
        cell["metadata"] = {}
