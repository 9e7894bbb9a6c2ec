predicted_occupancy = {"A": None, "B": None, "C": None}
predicted_occupancy = {
    "A": 50,  # 32 blocks of one warp: there are no more places for blocks
    "B": 75,  # 65,536 / (40 * 256) = 6.4, so 6 blocks of 8 warps
    "C": 25,  # 228 / (48 + 1) = 4.65, so 4 blocks of 4 warps
}
