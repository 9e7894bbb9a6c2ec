predicted_copy = {'bytes_moved': 436207616, 'kernel_us': 465.98598434348617, 'bus_us': 6922.24}
