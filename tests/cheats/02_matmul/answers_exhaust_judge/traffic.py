import numpy as np

traffic = {"Ks": np.zeros(10**7), "K1": 10**300, "block": "y" * 10**7}
