"""Performance counters of a launch: metrics, source lines and single warp accesses."""
