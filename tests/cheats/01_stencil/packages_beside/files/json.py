def dumps(*a, **k): return '{}'
