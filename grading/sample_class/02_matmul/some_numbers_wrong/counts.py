counts = {"flops": 4096**3, "bytes": 3 * 4096**2 * 4, "flops per byte": 683}
