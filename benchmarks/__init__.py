"""Benchmarks: the simulator against its peers, gpulab against NVIDIA's tools, and the performance model."""
