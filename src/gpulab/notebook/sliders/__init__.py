"""Sliders of a notebook: `gpulab.explore`, and the accesses of a kernel for one argument."""
