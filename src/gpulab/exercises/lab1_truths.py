"""The outcomes that lab 1 asks students to predict, from the kernels of the session or from measurements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gpulab.errors import UsageError
from gpulab.exercises.choice_exercise import Truth
from gpulab.problems.measurements import MeasuredKernel, measured_kernels
from gpulab.views.tables.number_format import milliseconds

if TYPE_CHECKING:
    from gpulab.gpus.catalogue import GpuSpec
    from gpulab.profiling.benchmark import Benchmark

__all__ = ["comparison", "truth_of_ablation", "truth_of_opt_1"]

SAME_PERCENT = 5.0  # times that differ by less are called the same


def comparison(ms: float, before_ms: float) -> str:
    """Return "faster", "slower" or "same", with both times."""
    change = 100 * (ms / before_ms - 1)
    word = "same" if abs(change) < SAME_PERCENT else "faster" if change < 0 else "slower"
    return f"{word}: {milliseconds(ms)} ms instead of {milliseconds(before_ms)} ms"


def truth_of_opt_1(lab: str) -> dict[str, Truth]:
    """Compare the session's opt_1 with its naive kernel, or with the baseline that ships with gpulab."""
    from gpulab.devices import open_device
    from gpulab.gpus.catalogue import gpu

    device = open_device()
    truths = {}
    for name, spec in (("own", device.spec), ("gtx280", gpu("gtx280"))):
        opt_1 = _time(lab, "opt_1", spec)
        naive = _time(lab, "naive", spec)
        if opt_1 is None or naive is None:
            raise UsageError(f"run the cell `%%cuda {lab}.opt_1` until the kernel is correct.")
        text = comparison(opt_1.median_ms, naive.median_ms)
        kinds = dict.fromkeys((naive.provenance.kind, opt_1.provenance.kind))
        truths[name] = Truth(text, f"{', '.join(kinds)}; {spec.name}")
    return truths


def _time(lab: str, variant: str, spec: GpuSpec) -> Benchmark | None:
    """Return the time of a kernel of the session on a GPU; of the baseline if there is no such kernel."""
    from gpulab import session
    from gpulab.cell import require_kernel_cell
    from gpulab.model.profile import profile_variant
    from gpulab.problems import problem
    from gpulab.profiling.benchmark import modelled
    from gpulab.profiling.speedup import baseline_timing, time_variant

    name = f"{lab}.{variant}"
    cell = session.cell(name)
    if cell is None or name not in session.kernel_names():
        shipped = baseline_timing(problem(lab), spec)
        return shipped.timing if shipped and shipped.variant == variant else None

    kernel, config = session.kernel(name), require_kernel_cell(cell).config
    if kernel.device.measures_time and spec == kernel.device.spec:
        return time_variant(kernel, config).timing
    return modelled(profile_variant(kernel, config, device=kernel.device, gpu=spec.key or None))


def truth_of_ablation(lab: str) -> dict[str, Truth]:
    """Return the outcomes of the measured ablation of the lab's solutions."""
    table = measured_kernels(f"{lab}.ablation")
    rows = {(row.kernel, row.split, bool(row.register_cap), row.hoisted): row for row in table.kernels}
    source = f"measured, {table.device}, {table.compiler}"

    def row(kernel: str, *, split: bool = False, cap: bool = False, hoisted: bool = False) -> MeasuredKernel:
        return rows[kernel, split, cap, hoisted]

    naive, opt_3 = row("naive"), row("opt_3")
    changes = {
        "shared tile (opt_1)": row("opt_1"),
        "register cap": row("naive", cap=True),
        "z split": row("naive", split=True),
        "hoisted division": row("naive", hoisted=True),
    }
    capped = {kernel: row(kernel, cap=True) for kernel in ("naive", "opt_1", "opt_2")}

    def compared(changed: MeasuredKernel) -> Truth:
        return Truth(comparison(changed.measured_ms, opt_3.measured_ms), source)

    return {
        "naive_helped_most_by": Truth(
            f"{_fastest(changes)}; without a change {milliseconds(naive.measured_ms)} ms", source
        ),
        "opt_3_with_cap": compared(row("opt_3", cap=True)),
        "opt_3_split": compared(row("opt_3", split=True)),
        "fastest_at_32": Truth(_fastest(capped), source),
    }


def _fastest(rows: Mapping[str, MeasuredKernel]) -> str:
    """Return the names of the rows with their times, the fastest first."""
    times = sorted(rows.items(), key=lambda item: item[1].measured_ms)
    first, *others = (f"{name} {milliseconds(row.measured_ms)} ms" for name, row in times)
    return f"{first}; then {', '.join(others)}"
