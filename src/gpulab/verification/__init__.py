"""Verification of a kernel: values, sanitizer findings, requirements, and the verdict on a cell."""
