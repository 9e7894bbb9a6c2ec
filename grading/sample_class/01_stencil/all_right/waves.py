registers = -(-waves_task.registers // 8) * 8  # given out in units of 8 for each thread
resident = min(65536 // (waves_task.threads * registers), 2048 // waves_task.threads, 32)
blocks = waves_task.nx * waves_task.ny // waves_task.threads
waves = {
    "resident_blocks": resident,
    "resident_warps": resident * waves_task.threads // 32,
    "blocks": blocks,
    "waves": blocks / (132 * resident),
    "rounds": -(-blocks // (132 * resident)),
}
