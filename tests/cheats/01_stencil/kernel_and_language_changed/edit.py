def edit(notebook):
    notebook["metadata"]["kernelspec"] = {"name": "evil", "display_name": "evil", "language": "bash"}
    notebook["metadata"]["language_info"] = {"name": "bash"}
    notebook["metadata"]["widgets"] = {"application/vnd.jupyter.widget-state+json": {"state": "x" * 1000}}
    notebook["nbformat_minor"] = 99
