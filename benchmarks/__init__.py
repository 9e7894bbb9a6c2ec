"""Side-by-side measurements: the simulator beside its peers, and what gpulab itself costs."""
