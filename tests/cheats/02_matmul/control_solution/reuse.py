bounds = {"K2": None, "K3": None, "K4": None, "K34": None}
one = reuse_task.gb_s / 4 * 2  # two operations for each word of b
bounds = {
    "K2": one,
    "K3": one,  # as many loads of b as multiply-adds: nothing gained
    "K4": one * reuse_task.columns,
    "K34": one * reuse_task.columns,
}
