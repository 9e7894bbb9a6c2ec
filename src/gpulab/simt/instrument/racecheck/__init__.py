"""The racecheck tier: generated checks, shadow memory and hazards of accesses."""
