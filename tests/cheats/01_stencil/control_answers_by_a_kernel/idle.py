from collections import OrderedDict


def count(nx=task.nx, ny=task.ny, width=32, height=8):
    columns, rows = -(-nx // width), -(-ny // height)
    threads = columns * rows * width * height
    writing = sum(0 < x < nx - 1 and 0 < y < ny - 1 for x in range(columns * width) for y in range(rows * height))
    return columns * rows, threads, threads - nx * ny, writing, 100 - 100 * writing / threads


predicted_idle = OrderedDict(zip(("blocks", "threads", "no_point", "writing", "idle_percent"), count()))
predicted_idle["comment"] = "counted"
