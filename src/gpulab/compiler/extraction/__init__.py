"""The device side of a CUDA C++ file: its kernels, with the declarations that they need."""
