HARM = "<script>alert(1)</script><img src=x onerror=alert(1)> [x](javascript:alert(1))"


def edit(notebook):
    notebook["metadata"]["title"] = HARM
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown" and "nbgrader" in cell["metadata"]:
            cell["source"] = HARM
            cell["attachments"] = {"x.svg": {"image/svg+xml": "<svg onload=alert(1)>"}}
        if cell["cell_type"] == "code":
            cell["execution_count"] = HARM
            cell["outputs"] = [{"output_type": "display_data", "metadata": {}, "data": {"text/html": HARM}}]
