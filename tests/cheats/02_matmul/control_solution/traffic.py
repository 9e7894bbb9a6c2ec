traffic = {"Ks": None, "K1": None, "block": None}
word, width = traffic_task.word, traffic_task.bx
traffic = {
    "Ks": 1 + traffic_task.by,  # one value of b for all lanes, and one column of c for each
    "K1": 32 * word // 32 + 1,  # 32 neighbours of b, and one value of c for all lanes
    "block": -(-width * word // 32) + 32 // width,
}
