predicted_idle = {}
blocks = -(-task.nx // 32) * -(-task.ny // 8)
for name, value in [("blocks", blocks), ("threads", blocks * 256)]:
    predicted_idle[name] = value
print(predicted_idle)
