traffic = {"Ks": 33, "K1": 4 + 1}
