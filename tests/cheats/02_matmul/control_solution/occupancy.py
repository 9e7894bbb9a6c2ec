warps = {"t1": None, "t2": None, "t3": None, "t4": None}
most_blocks, most_warps = card.max_blocks_per_sm, card.max_warps_per_sm
for name in warps:
    each = getattr(occupancy_task, name) // 32
    warps[name] = min(most_blocks, most_warps // each) * each
