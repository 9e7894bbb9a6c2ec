spec, words = gpulab.gpu(copies.gpu), copies.mega_floats * 2**20
predicted_copy = {
    "bytes_moved": 8 * words,
    "kernel_us": round(8 * words / spec.dram_gb_s / 1e3, 1),
    "bus_us": round(4 * words / spec.bus_gb_s / 1e3),
}
