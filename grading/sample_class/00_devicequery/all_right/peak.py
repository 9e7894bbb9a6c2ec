cores = peak.cores_per_sm * peak.sms
tera, giga = cores * peak.clock_mhz * 2e-6, peak.memory_mhz * peak.bus_bits / 4000
predicted_peak = {
    "cores": cores,
    "tflops": round(tera, 2),
    "gb_s": round(giga, 1),
    "ridge": tera / giga * 1000,
}
