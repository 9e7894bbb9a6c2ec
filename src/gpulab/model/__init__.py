"""model: how long a launch takes on a GPU of the catalogue, from what it asks of it. Arithmetic only."""
