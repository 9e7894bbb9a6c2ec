bound = {
    "gwords": None, "words": None, "flops": None,
    "K1 bound": None, "tile bound": None, "lecture": None,
}
gwords, group = bound_task.gb_s / 4, bound_task.group
bound = {
    "gwords": gwords,
    "words": group + 1,
    "flops": 2 * group,
    "K1 bound": gwords * 2 * group / (group + 1),
    "tile bound": gwords * bound_task.tile,  # without tiles, one operation for each word
    "lecture": "half a warp",  # 35.5 * 32 / 17 is 66.8, and * 64 / 33 would be 68.8
}
