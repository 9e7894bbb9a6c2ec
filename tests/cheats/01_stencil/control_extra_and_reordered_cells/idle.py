predicted_idle = {"blocks": 45, "threads": 11520, "no_point": 2420, "writing": 8704, "idle_percent": 24.444}
