import math

b_sectors = math.ceil(traffic_task.bx * traffic_task.word / 32)
traffic = {"Ks": traffic_task.by + 1, "K1": traffic_task.word + 1, "block": b_sectors + 32 // traffic_task.bx}
