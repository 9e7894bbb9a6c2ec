"""Comparison of `gpulab.sanitize` with NVIDIA's compute-sanitizer."""
