predicted_copy = {"bytes_moved": None, "kernel_us": None, "bus_us": None}
nbytes = 4 * copies.mega_floats * 2**20
spec = gpulab.gpu(copies.gpu)
predicted_copy["bytes_moved"] = 2 * nbytes
predicted_copy["kernel_us"] = 2 * nbytes / (spec.dram_gb_s * 1e9) * 1e6
predicted_copy["bus_us"] = nbytes / (spec.bus_gb_s * 1e9) * 1e6
