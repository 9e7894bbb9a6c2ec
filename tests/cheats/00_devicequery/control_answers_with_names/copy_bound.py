import gpulab as g

card = g.gpu(copies.gpu)
predicted_copy = {"bytes_moved": 0}
predicted_copy["bytes_moved"] += 8 * copies.mega_floats * 1024 * 1024
predicted_copy["kernel_us"] = round(predicted_copy["bytes_moved"] / card.dram_gb_s / 1e3, 1)
predicted_copy["bus_us"] = predicted_copy["bytes_moved"] / 2 / card.bus_gb_s / 1e3
