"""The counters tier: executions, sectors and wavefronts of each access."""
