"""Static analysis of a kernel: control flow, reconvergence, divergence, slicing, specialization."""
