"""The compiler: CUDA C to PTX, machine code, resource usage and diagnostics. It uses no device."""

from __future__ import annotations

from gpulab.compiler.build import compile_program, ptx_program
from gpulab.compiler.program import Parameter, Program, Resources

__all__ = ["Parameter", "Program", "Resources", "compile_program", "ptx_program"]
