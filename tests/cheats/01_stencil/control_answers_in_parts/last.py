predicted_idle.update(no_point=2420, writing=8704)
# %%
predicted_idle["idle_percent"] = 100 * (1 - predicted_idle["writing"] / predicted_idle["threads"])
predicted_idle
