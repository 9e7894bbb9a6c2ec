predicted_peak = {"cores": None, "tflops": None, "gb_s": None, "ridge": None}
cores = peak.sms * peak.cores_per_sm
tflops = cores * 2 * peak.clock_mhz * 1e6 / 1e12
gb_s = 2 * peak.memory_mhz * 1e6 * peak.bus_bits / 8 / 1e9
predicted_peak = {"cores": cores, "tflops": tflops, "gb_s": gb_s, "ridge": tflops * 1e12 / (gb_s * 1e9)}
