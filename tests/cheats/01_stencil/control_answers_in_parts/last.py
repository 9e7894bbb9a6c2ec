predicted_idle.update(no_point=256 * blocks - task.nx * task.ny, writing=(task.nx - 2) * (task.ny - 2))
# %%
predicted_idle["idle_percent"] = 100 * (1 - predicted_idle["writing"] / predicted_idle["threads"])
predicted_idle
