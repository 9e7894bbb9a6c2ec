import gpulab

h200 = gpulab.gpu("h200")
predicted_occupancy = {}
for name, launch in zip("ABC", [(32, 16, 0), (256, 40, 0), (128, 32, 48 * 1024)]):
    predicted_occupancy[name] = 100 * gpulab.occupancy(h200, *launch).fraction
