"""The simulator: PTX in, executed threads out. Knows nothing of labs, notebooks or grades."""
