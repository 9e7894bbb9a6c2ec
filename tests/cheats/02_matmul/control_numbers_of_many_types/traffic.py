import numpy as np

own = -(-traffic_task.bx * traffic_task.word // 32) + 32 // traffic_task.bx
traffic = dict(Ks=1.0 + traffic_task.by, K1=np.array(traffic_task.word + 1), block=float(own))
