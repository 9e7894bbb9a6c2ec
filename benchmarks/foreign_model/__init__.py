"""The performance model on kernels of other people: Rodinia, PolyBench-ACC and cuda-samples, on an H200.

`launch_list` names the launches and the half of them that is held out; `polybench` and `declared` declare
the launches that `benchmarks.compatibility` does not have in a suitable size; `bundle` compiles the kernels;
`measure` times them on a GPU; `evidence` runs them on the simulator; `report` writes the page.
"""
