import gpulab

gb_s = gpulab.gpu("t10").dram_gb_s  # of the T10's memory, from its data sheet
bounds = {"K2": None, "K3, 2 along i": None, "K4, 2 along j": None, "K4, 4 along j": None}
bounds = {
    "K2": gb_s / 4 * 2,
    "K3, 2 along i": gb_s / 4 * 2,  # two loads of b for two multiply-adds: nothing gained
    "K4, 2 along j": gb_s / 4 * 4,
    "K4, 4 along j": gb_s / 4 * 8,
}
