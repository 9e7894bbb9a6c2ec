predicted_occupancy = {"blocks": None, "percent": None, "best": None, "percent_best": None}
def blocks(threads):
    by_registers = 65536 // (occupancy.registers * threads)
    by_shared = 228 // (occupancy.shared_kib + 1)
    return min(by_registers, by_shared, 2048 // threads, 32)


def percent(threads):
    return 100 * blocks(threads) * threads / 2048


best = max((64, 128, 256, 512, 1024), key=percent)
predicted_occupancy = {
    "blocks": blocks(occupancy.threads),
    "percent": percent(occupancy.threads),
    "best": best,
    "percent_best": percent(best),
}
