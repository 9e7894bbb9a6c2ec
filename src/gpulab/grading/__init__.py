"""Grading: checks for test cells, the nbgrader pipeline, releases of assignments, and reports."""
