"""The run time of a launch: device memory, worker contexts, block scheduling, printf."""
