"""Comparison of `gpulab.sanitize` with the labels of two public suites of kernels with races."""
