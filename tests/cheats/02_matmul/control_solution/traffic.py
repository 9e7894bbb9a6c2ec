traffic = {"Ks": None, "K1": None}
traffic = {
    "Ks": 1 + 32,  # one value of b for all lanes, and a column of c for each
    "K1": 32 * 4 / 32 + 1,  # 32 neighbours of b, and one value of c for all lanes
}
