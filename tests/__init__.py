"""Tests of gpulab. This folder and `browser` are packages, so that fixtures can have a package's scope."""
