import gpulab

limits = gpulab.gpu(occupancy_task.gpu)
warps = {}
for name in ("t1", "t2", "t3", "t4"):
    size = getattr(occupancy_task, name) // 32
    blocks = limits.max_warps_per_sm // size
    warps[name] = size * min(blocks, limits.max_blocks_per_sm)
