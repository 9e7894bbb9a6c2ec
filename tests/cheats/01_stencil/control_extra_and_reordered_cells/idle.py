import gpulab

task = gpulab.exercise("stencil.idle_threads")
across, down = -(-task.nx // 32), -(-task.ny // 8)
threads, writing = 256 * across * down, (task.nx - 2) * (task.ny - 2)
predicted_idle = {
    "blocks": across * down,
    "threads": threads,
    "no_point": threads - task.nx * task.ny,
    "writing": writing,
    "idle_percent": 100 * (threads - writing) / threads,
}
