"""The ladder on GPUs that are not here: this session's kernels, modelled on each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpulab.errors import GpulabError
from gpulab.problems import problem as problem_named
from gpulab.views.html import View, paragraph, stack, table
from gpulab.views.tables.speedup_view import milliseconds

if TYPE_CHECKING:
    from gpulab.model.profile import Profile
    from gpulab.problems import Shape
    from gpulab.profiling.benchmark import Benchmark

__all__ = ["ladder_table"]


@dataclass(frozen=True)
class _Rung:
    variant: str
    block: str
    shape: Shape
    modelled: dict[str, Profile | str]  # by GPU; words where there is none
    measured: Benchmark | None


def ladder_table(
    problem: str = "stencil", gpus: Sequence[str] = ("gtx280", "h200"), size: int | str | None = None
) -> View:
    """The session's kernels of a problem on each of `gpus`: time, what bounds it, speed-up over the first.

    On a CUDA device the measured time stands beside it. size: as the problem writes it ("128", "65x47x9");
    None for its timing size.

    Raises `UsageError` for a problem, a GPU or a size that is not there.
    """
    from gpulab.gpus.catalogue import gpu as gpu_named

    known = problem_named(problem)
    shape = known.parse_shape(str(size)) if size is not None else None
    specs = {name: gpu_named(name) for name in gpus}
    rungs = [rung for variant in known.variants if (rung := _rung(known, variant, gpus, shape)) is not None]
    if not rungs:
        return paragraph(
            f"no variant of {known.name} is right yet in this session: run its kernel cells.", dim=True
        )
    headers = ["variant", "block"]
    for spec in specs.values():
        headers += [f"{spec.name} (ms)", "speed-up", "bound by"]
    measured = next((rung.measured for rung in rungs if rung.measured), None)
    if measured is not None:
        headers += ["measured (ms)", "speed-up"]
    first = rungs[0]
    rows, reasons = [], []
    for rung in rungs:
        cells: list[str] = [rung.variant, rung.block]
        for name in gpus:
            here, start = rung.modelled[name], first.modelled[name]
            if isinstance(here, str):
                cells += ["-", "-", "-"]
                reasons.append(f"{rung.variant} on the {specs[name].name}: {here}")
                continue
            gain = "-" if isinstance(start, str) else f"{start.time_ms / here.time_ms:.2f}"
            cells += [milliseconds(here.time_ms), gain, here.bottleneck]
        if measured is not None:
            there = rung.measured
            gain = f"{first.measured.median_ms / there.median_ms:.2f}" if there and first.measured else "-"
            cells += [milliseconds(there.median_ms if there else None), gain]
        rows.append(cells)
    found: dict[str, None] = {}
    for rung in rungs:
        for each in rung.modelled.values():
            if not isinstance(each, str):
                found[str(each.provenance)] = None
        if rung.measured:
            found[str(rung.measured.provenance)] = None
    sizes = dict.fromkeys(known.format_shape(rung.shape) for rung in rungs)
    numeric = tuple(n for n, name in enumerate(headers) if name.endswith("(ms)") or name == "speed-up")
    caption = f"{known.name} at {', '.join(sizes)}. Times: {'; '.join(found)}."
    shown = table(headers, rows, numeric=numeric, caption=caption)
    return stack(shown, *(paragraph(reason, dim=True) for reason in reasons))


def _rung(known: Any, variant: str, gpus: Sequence[str], shape: Any) -> _Rung | None:
    from gpulab import session
    from gpulab.cell import require_kernel_cell
    from gpulab.model.profile import profile_variant
    from gpulab.profiling.speedup import time_variant

    name = f"{known.name}.{variant}"
    cell = session.cell(name)
    if name not in session.kernel_names() or cell is None:
        return None
    kernel, config = session.kernel(name), require_kernel_cell(cell).config
    device = kernel.device
    shape = shape or config.timing_shape
    modelled: dict[str, Profile | str] = {}
    for key in gpus:
        try:
            modelled[key] = profile_variant(kernel, config, device=device, shape=shape, gpu=key)
        except GpulabError as error:  # a launch that the GPU refuses, or what cannot be modelled
            modelled[key] = str(error)
    measured = None
    if device.measures_time:
        measured = time_variant(kernel, config, device=device, shape=shape).timing
    return _Rung(variant, "x".join(map(str, config.block)), shape, modelled, measured)
