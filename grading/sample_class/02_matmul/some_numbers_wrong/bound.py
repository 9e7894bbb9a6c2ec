bound = {
    "gwords": bound_task.gb_s / 4,
    "words": bound_task.group + 1,
    "flops": 2 * bound_task.group,
    "K1 bound": 1,
    "tile bound": "many",
    "lecture": None,
}
