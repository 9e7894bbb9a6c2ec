"""The trace tier: memory requests of each warp in program order, for the cache model."""
