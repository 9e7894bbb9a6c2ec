"""The CUDA GPU as a device, through CuPy and the driver."""
