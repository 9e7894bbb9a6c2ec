"""Exploration of launch configurations: the search space and the scheduling of its points."""
