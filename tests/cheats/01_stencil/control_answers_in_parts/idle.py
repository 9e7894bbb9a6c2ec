predicted_idle = {}
for name, value in [("blocks", 5 * 9), ("threads", 45 * 256)]:
    predicted_idle[name] = value
print(predicted_idle)
