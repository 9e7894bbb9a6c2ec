from fractions import Fraction

blocks = -(-task.nx // 32) * -(-task.ny // 8)
points, writing = task.nx * task.ny, (task.nx - 2) * (task.ny - 2)
predicted_idle = dict(
    blocks=float(blocks), threads=Fraction(256 * blocks), no_point=256 * blocks - points, writing=writing * 1e0
)
predicted_idle["idle_percent"] = 100 * (1 - Fraction(writing, 256 * blocks))
