def edit(notebook):
    for name in ("hello", "filled", "counts_known", "double_it", "turned_slow", "scattered", "lost", "copy", "strided"):
        notebook["cells"].append({
            "cell_type": "code", "id": f"own-{name.replace('_', '-')}", "metadata": {}, "outputs": [],
            "execution_count": None, "source": f"%%cuda {name}\n__global__ void {name}(float* x) {{ x[0] = 0; }}",
        })
