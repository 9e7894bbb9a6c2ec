answers = {"blocks": 1, "threads": 1, "no_point": 1, "writing": 1, "idle_percent": 1}
predicted_idle = answers
