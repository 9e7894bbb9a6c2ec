"""Kernels of other people's repositories, with their launches declared here, compared with NumPy.

`launches` defines how a launch is declared; `sgemm_cuda`, `llm_c`, `rodinia` and the modules `samples_*`
declare the launches; `listing` finds the kernels; `loaded_launch` prepares a launch and `checking` runs it;
`page` writes docs/compatibility.md.
"""
