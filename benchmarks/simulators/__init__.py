"""Comparison of the simulator's speed with that of other simulators, and the costs of gpulab itself."""
