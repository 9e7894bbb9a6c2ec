import gpulab

h200, shared = gpulab.gpu("h200"), occupancy.shared_kib * 1024
own = gpulab.occupancy(h200, occupancy.threads, occupancy.registers, shared)
predicted_occupancy = {"blocks": own.blocks_per_sm, "percent": 100 * own.fraction, "percent_best": 0}
for threads in (1024, 512, 256, 128, 64):
    found = gpulab.occupancy(h200, threads, occupancy.registers, shared)
    if 100 * found.fraction > predicted_occupancy["percent_best"]:
        predicted_occupancy |= {"best": threads, "percent_best": 100 * found.fraction}
