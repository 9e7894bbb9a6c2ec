"""The sanitized tier: shadow memory, initialization checks and race detection."""
