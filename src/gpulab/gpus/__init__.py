"""Data about GPUs: the catalogue, limits of compute capabilities, architectures, occupancy."""
