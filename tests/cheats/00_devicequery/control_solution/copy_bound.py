predicted_copy = {"bytes_moved": None, "kernel_us": None, "bus_us": None}
predicted_copy["bytes_moved"] = 2 * 4 * 2**24
predicted_copy["kernel_us"] = predicted_copy["bytes_moved"] / 4917e9 * 1e6
predicted_copy["bus_us"] = 4 * 2**24 / 63e9 * 1e6
