counts = {"flops": None, "bytes": None, "flops per byte": None}
size = 4096
counts = {
    "flops": 2 * size**3,
    "bytes": 3 * 4 * size**2,
    "flops per byte": 2 * size**3 / (3 * 4 * size**2),
}
