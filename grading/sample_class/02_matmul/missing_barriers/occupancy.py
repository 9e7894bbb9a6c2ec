import gpulab

sm = gpulab.gpu(occupancy_task.gpu)
each = {name: getattr(occupancy_task, name) // 32 for name in ("t1", "t2", "t3", "t4")}
warps = {
    name: min(sm.max_blocks_per_sm * size, sm.max_warps_per_sm // size * size) for name, size in each.items()
}
