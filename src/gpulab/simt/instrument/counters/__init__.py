"""The counted tier: executions, sectors and wavefronts of each access."""
