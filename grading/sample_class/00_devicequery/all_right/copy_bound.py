predicted_copy = {"bytes_moved": 134217728, "kernel_us": 27.3, "bus_us": 1065}
