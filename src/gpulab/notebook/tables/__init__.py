"""Tables and rooflines whose rows are measured while the cell runs."""
