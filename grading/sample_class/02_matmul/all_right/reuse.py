rate = 102.0 / 4
bounds = {"K2": 2 * rate, "K3, 2 along i": 2 * rate, "K4, 2 along j": 4 * rate, "K4, 4 along j": 8 * rate}
