import numpy as np

i = np.arange(32)
indices = {
    "shifted": i[: patterns.lanes] + patterns.shift,
    "shared": i // patterns.share,
    "strided": patterns.stride * i,
}
predicted_sectors = {name: len(np.unique(index // 8)) for name, index in indices.items()}
