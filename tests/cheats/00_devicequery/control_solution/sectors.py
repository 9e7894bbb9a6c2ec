predicted_sectors = {"shifted": None, "pairs": None, "far": None}
predicted_sectors = {
    "shifted": 5,  # 128 bytes that begin inside a sector
    "pairs": 2,    # 16 floats, each for two lanes
    "far": 32,     # 32 bytes apart: a sector for each lane
}
