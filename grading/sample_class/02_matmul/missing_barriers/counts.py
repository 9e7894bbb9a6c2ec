counts = {"flops": 2 * 4096**3, "bytes": 3 * 4096 * 4096 * 4, "flops per byte": 682.67}
