from gpulab import gpu
from gpulab import occupancy as of

fractions = {
    threads: of(gpu("h200"), threads, occupancy.registers, 1024 * occupancy.shared_kib)
    for threads in (64, 128, 256, 512, 1024, occupancy.threads)
}
best = max((64, 128, 256, 512, 1024), key=lambda threads: fractions[threads].fraction)
predicted_occupancy = {
    "blocks": fractions[occupancy.threads].blocks_per_sm,
    "percent": 100 * fractions[occupancy.threads].fraction,
    "best": best,
    "percent_best": 100 * fractions[best].fraction,
}
predicted_occupancy["percent"] = predicted_occupancy["best"] = 1
