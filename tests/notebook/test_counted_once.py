"""A kernel cell compiles native code once per tier and is counted once, for requirements and heat view."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

from gpulab.devices.simulator.simulated_device import SimulatedKernel
from gpulab.simt.codegen import native
from tests.notebook.conftest import CellRun

KERNELS = Path(__file__).parents[1] / "kernels"


@pytest.mark.parametrize("name", ["stencil/right/opt_1_flat_shared_array", "matmul/right/K34_register_block"])
def test_cell_is_compiled_once_per_tier_and_counted_once(
    shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    compiled: Counter[str] = Counter()
    launched: Counter[str] = Counter()
    compile_kernel, record = native.compile_kernel, SimulatedKernel.record

    def counting_compile(module: Any, entry: str, special: Any) -> Any:
        compiled[special.tier] += 1
        return compile_kernel(module, entry, special)

    def counting_record(kernel: Any, recorder: Any, *args: Any, **options: Any) -> Any:
        if options.get("order") is None:  # a whole launch
            launched[recorder.tier if recorder else "values"] += 1
        return record(kernel, recorder, *args, **options)

    monkeypatch.setattr(native, "compile_kernel", counting_compile)
    monkeypatch.setattr(SimulatedKernel, "record", counting_record)
    run = CellRun(shell, (KERNELS / f"{name}.cu").read_text().removeprefix("//").lstrip())

    assert run.error is None
    assert '<div class="gp-source">' in run.html  # the heat view
    assert set(compiled.values()) == {1}, compiled
    assert launched["counters"] == 1, launched
