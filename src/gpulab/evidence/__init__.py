"""evidence: everything that can be said about a launch, as values; nothing here draws."""
