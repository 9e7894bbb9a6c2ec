"""Performance model: the time of a launch on a GPU of the catalogue, computed without that GPU."""
