"""Instrumentation of generated code: performance counters, race checking, address traces."""
