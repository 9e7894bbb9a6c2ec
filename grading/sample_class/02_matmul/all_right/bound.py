gwords = bound_task.gb_s / 4
bound = {
    "gwords": gwords,
    "words": bound_task.group + 1,
    "flops": 2 * bound_task.group,
    "K1 bound": round(2 * gwords * bound_task.group / (bound_task.group + 1), 1),
    "tile bound": gwords * bound_task.tile,
    "lecture": "half a warp",
}
