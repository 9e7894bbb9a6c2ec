import gpulab
import numpy as np

sm = gpulab.gpu(occupancy_task.gpu)
each = np.array([getattr(occupancy_task, name) // 32 for name in ("t1", "t2", "t3", "t4")])
resident = np.minimum(sm.max_blocks_per_sm, sm.max_warps_per_sm // each) * each
warps = dict(zip(("t1", "t2", "t3", "t4"), resident))
