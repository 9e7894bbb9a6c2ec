"""A device whose `mmkernel` is correct for some tiles only, and scripted kernel times."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import pytest

from gpulab.cell import Cell, parse_cell
from gpulab.config import KernelConfig
from gpulab.errors import CompileError, Diagnostic
from gpulab.profiling.benchmark import Benchmark
from gpulab.profiling.speedup import VariantTiming
from gpulab.provenance import Provenance
from tests.python_device import PythonDevice, PythonKernel

MODELLED = Provenance("modelled", "Python device", "for a test")


def multiply(a: Any, b: Any, c: Any, n: Any, m: Any, p: Any) -> None:
    a[:] = c @ b


def do_nothing(*args: Any) -> None:
    pass


class TiledDevice(PythonDevice):
    """A device whose kernel is correct if TILE_Y is in `correct_tiles`; a TILE_Y of 8 does not compile."""

    def __init__(self, correct_tiles: Collection[int] = (1, 2)) -> None:
        super().__init__({"mmkernel": multiply})
        self.correct_tiles = correct_tiles

    def compile(
        self,
        source: str,
        name: str | None = None,
        defines: Mapping[str, Any] | None = None,
        options: Any = (),
    ) -> PythonKernel:
        tile = (defines or {}).get("TILE_Y", 1)
        if tile == 8:
            raise CompileError([Diagnostic(3, 1, "error", "no such register")])
        self.functions["mmkernel"] = multiply if tile in self.correct_tiles else do_nothing
        kernel = super().compile(source, name, defines, options)
        assert isinstance(kernel, PythonKernel)
        return kernel


def cell(header: str = "matmul.K4 --block 32 --tile 1 2", text: str = "") -> Cell:
    return parse_cell(f"// %%cuda {header}\n{text}", "kernel.cu")


def set_clock(monkeypatch: pytest.MonkeyPatch, *, kernel_ms: Any = 2.0, copies_ms: float = 1.0) -> None:
    """Let the copies take `copies_ms` and kernels `kernel_ms`, a number or a function of block and tile."""

    def time_variant(kernel: Any, config: KernelConfig, **options: Any) -> VariantTiming:
        ms = kernel_ms(config.block, config.tile) if callable(kernel_ms) else kernel_ms
        samples = [ms] * options["n_repeat"]
        return VariantTiming(config, options["shape"], Benchmark.from_samples(samples, MODELLED))

    monkeypatch.setattr("gpulab.profiling.bench.time_variant", time_variant)
    monkeypatch.setattr(
        "gpulab.profiling.bench.time_copies", lambda *args: Benchmark.from_samples([copies_ms], MODELLED)
    )
