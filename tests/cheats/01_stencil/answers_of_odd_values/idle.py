import numpy as np

predicted_idle = {
    "blocks": [44, 45, 46],
    "threads": "11520",
    "no_point": float("nan"),
    "writing": np.arange(10_000),
    "idle_percent": {"low": -1e308, "high": 1e308, "deep": [[[[[[[[[[[[[[[]]]]]]]]]]]]]]]},
    "": 10**290,
    "x" * 9_999: True,
}
