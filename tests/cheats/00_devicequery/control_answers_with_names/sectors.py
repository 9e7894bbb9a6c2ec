predicted_sectors = {"shifted": (patterns.shift + patterns.lanes - 1) // 8 - patterns.shift // 8 + 1, "shared": max(4 / patterns.share, 1.0), "why": None}
predicted_sectors["strided"] = min(32, 4 * patterns.stride) * 1.0
