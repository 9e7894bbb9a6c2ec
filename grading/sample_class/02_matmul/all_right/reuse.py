rate = reuse_task.gb_s / 4
bounds = {
    "K2": 2 * rate,
    "K3": 2 * rate,
    "K4": 2 * rate * reuse_task.columns,
    "K34": 2 * rate * reuse_task.columns,
}
