"""Grading reports, as HTML and in the terminal."""
