predicted_idle = {"blocks": None, "threads": None, "no_point": None, "writing": None, "idle_percent": None}
blocks = -(-task.nx // 32) * -(-task.ny // 8)
writing = (task.nx - 2) * (task.ny - 2)
predicted_idle = {
    "blocks": blocks,
    "threads": 256 * blocks,
    "no_point": 256 * blocks - task.nx * task.ny,
    "writing": writing,
    "idle_percent": 100 * (1 - writing / (256 * blocks)),
}
