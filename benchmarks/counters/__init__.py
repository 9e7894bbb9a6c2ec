"""Comparison of `gpulab.counters` with the figures of Nsight Compute."""
