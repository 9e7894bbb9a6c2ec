predicted_idle = {"blocks": None, "threads": None, "no_point": None, "writing": None, "idle_percent": None}
predicted_idle = {
    "blocks": 5 * 9,
    "threads": 45 * 256,
    "no_point": 45 * 256 - 130 * 70,
    "writing": 128 * 68,
    "idle_percent": 100 * (1 - 128 * 68 / (45 * 256)),
}
