"""Profiling of a kernel: timing, transfers, speed-up, sweeps and the roofline."""
