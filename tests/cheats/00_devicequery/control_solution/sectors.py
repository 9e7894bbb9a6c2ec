predicted_sectors = {"shifted": None, "shared": None, "strided": None}
def touched(indices):
    return len({4 * index // 32 for index in indices})


lanes = range(32)
predicted_sectors = {
    "shifted": touched([i + patterns.shift for i in range(patterns.lanes)]),
    "shared": touched([i // patterns.share for i in lanes]),
    "strided": touched([patterns.stride * i for i in lanes]),
}
