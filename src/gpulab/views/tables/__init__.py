"""The tables of the public API."""
