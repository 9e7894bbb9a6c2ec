traffic = {
    "Ks": 1 + traffic_task.by,
    "K1": 1 + 32 * traffic_task.word / 32,
    "block": max(1, traffic_task.bx * traffic_task.word // 32) + 32 / traffic_task.bx,
}
