"""The launches that `benchmarks.counters.nsight` profiles: correct kernels of the labs, and micro-kernels.

A launch is a program, a geometry and arguments from a fixed seed, so that the simulator can repeat exactly
what the GPU ran.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gpulab.cell import KernelCell, read_cells, require_kernel_cell
from gpulab.problems.base import Shape

__all__ = ["KernelSource", "NsightLaunch", "launches"]

ROOT = Path(__file__).parents[2]
KERNELS = Path(__file__).parent / "nsight_kernels"
SEED = 1
# Access patterns of one launch of a micro-kernel. Each runs 64 times as often as the one before, so that
# their counts, if they are below 64, can be read from the sum.
PATTERNS_PER_LAUNCH = 3

Dim3 = tuple[int, int, int]
Pattern = npt.NDArray[np.int64]  # element that each of 32 lanes accesses, -1 for an inactive lane


@dataclass(frozen=True)
class KernelSource:
    """CUDA source with its macros."""

    name: str
    text: str
    defines: Mapping[str, object]


@dataclass(frozen=True)
class NsightLaunch:
    """One launch.

    Attributes
    ----------
    group : str
        "micro", "stencil" or "matmul".
    name : str
        Unique.
    arguments : callable
        Returns new host arrays and scalars.
    patterns : tuple of str
        Access patterns of a micro-kernel.
    """

    group: str
    name: str
    source: KernelSource
    kernel: str
    grid: Dim3
    block: Dim3
    arguments: Callable[[], list[Any]]
    patterns: tuple[str, ...] = field(default=())


@cache
def launches() -> tuple[NsightLaunch, ...]:
    """Return all launches, in the order in which they run."""
    all_launches = [*_labs(), *_micro()]
    assert len({launch.name for launch in all_launches}) == len(all_launches)
    return tuple(all_launches)


# -- the labs' kernels -----------------------------------------------------------------------------


def _labs() -> Iterator[NsightLaunch]:
    files = [*sorted((ROOT / "tests/kernels/stencil/right").glob("*.cu"))]
    files += sorted((ROOT / "tests/kernels/matmul/right").glob("*.cu"))
    for path in files:
        yield from _cell_launches(path.stem, require_kernel_cell(read_cells(path)[0]))
    for lab in ("01_stencil", "02_matmul"):
        (notebook,) = (ROOT / "labs" / lab).glob("*.ipynb")
        seen = set()
        for cell in read_cells(notebook):
            if isinstance(cell, KernelCell) and cell.name not in seen:
                seen.add(cell.name)  # later cells of this name are experiments with the first
                yield from _cell_launches(f"{notebook.stem}.{cell.config.variant}", cell)


def _cell_launches(name: str, cell: KernelCell) -> Iterator[NsightLaunch]:
    config, problem = cell.config, cell.config.problem
    source = KernelSource(f"{problem.name}/{name}", cell.source, dict(config.defines))
    if problem.name == "stencil":
        shapes: list[Shape] = [(65, 47, 9), (64, 64, 64), (130, 70, 33)]
    else:
        shapes = list(config.check_shapes)
        n, m, p = shapes[0]
        if len(shapes) < 3:
            shapes.append((4 * n, 4 * m, p) if n == m else (4 * n, 2 * m, 3 * p))
    for shape in shapes:
        yield NsightLaunch(
            problem.name,
            f"{source.name} {problem.format_shape(shape)}",
            source,
            config.kernel_name,
            config.at(shape).grid,
            config.block,
            lambda problem=problem, shape=shape: [  # type: ignore[misc]
                argument.value if argument.role != "output" else np.zeros_like(argument.value)
                for argument in problem.arguments(shape, np.random.default_rng(SEED))
            ],
        )


# -- micro-kernels ---------------------------------------------------------------------------------


def _micro() -> Iterator[NsightLaunch]:
    for bytes_, ty in (
        (4, "unsigned"),
        (8, "uint2"),
        (16, "uint4"),
        (2, "unsigned short"),
        (1, "unsigned char"),
    ):
        patterns = _shared_patterns() if bytes_ >= 4 else _few_patterns()
        for kernel in ("shared_load", "shared_store"):
            yield from _pattern_launches(kernel, kernel, f"{bytes_}", {"TYPE": ty}, patterns, data=None)
        patterns = _global_patterns() if bytes_ >= 4 else _few_patterns()
        yield from _pattern_launches(
            "global_load", "global_load", f"{bytes_}", {"TYPE": ty, "READ": "*"}, patterns, data=np.uint8
        )
        yield from _pattern_launches(
            "global_store", "global_store", f"{bytes_}", {"TYPE": ty}, patterns, data=np.uint8
        )
    yield from _pattern_launches(
        "global_load",
        "global_load",
        "4 ldg",
        {"TYPE": "unsigned", "READ": "__ldg"},
        _few_patterns(),
        np.uint8,
    )
    for ty in ("int", "float"):
        for use in ("(void)", "sum +="):
            macros = {"TYPE": ty, "USE": use}
            label = f"{ty} {'red' if use == '(void)' else 'atom'}"
            yield from _pattern_launches("atomics", "global_atomic", label, macros, _few_patterns(), np.uint8)
            yield from _pattern_launches("atomics", "shared_atomic", label, macros, _few_patterns(), None)
    yield from _pattern_launches("constant_load", "constant_load", "4", {}, _constant_patterns(), None)
    yield from _arithmetic()
    yield from _branches()


def _pattern_launches(
    file: str,
    kernel: str,
    label: str,
    macros: Mapping[str, object],
    patterns: Mapping[str, Pattern],
    data: type[np.generic] | None,
) -> Iterator[NsightLaunch]:
    source = KernelSource(f"{file} {label}", (KERNELS / f"{file}.cu").read_text(encoding="utf-8"), macros)
    names = list(patterns)
    for first in range(0, len(names), PATTERNS_PER_LAUNCH):
        group = names[first : first + PATTERNS_PER_LAUNCH]
        at = np.concatenate([patterns[name] for name in group]).astype(np.int32)

        def arguments(at: npt.NDArray[np.int32] = at) -> list[Any]:
            made: list[Any] = [] if data is None else [np.zeros(1 << 19, data)]
            made += [at, np.int32(len(at) // 32), np.int32(0)]
            return made if kernel == "global_store" else [*made, np.zeros(32, np.uint32)]

        yield NsightLaunch(
            "micro",
            f"{kernel} {label}: {', '.join(group)}",
            source,
            kernel,
            (1, 1, 1),
            (32, 1, 1),
            arguments,
            tuple(group),
        )


def _shared_patterns() -> dict[str, Pattern]:
    lane: Pattern = np.arange(32, dtype=np.int64)
    patterns = {f"stride {s}": lane * s for s in (1, 2, 3, 4, 5, 8, 16, 17, 32, 33)}
    patterns["broadcast"] = lane * 0
    patterns |= {f"half rows {pitch}": lane // 16 * pitch + lane % 16 for pitch in (17, 20, 24, 32)}
    patterns |= {f"quarter rows {pitch}": lane // 8 * pitch + lane % 8 for pitch in (9, 12, 16, 32)}
    patterns |= {
        "pairs": lane // 2,
        "quads": lane // 4,
        "halves": lane // 16,
        "halves 32 apart": lane // 16 * 32,
    }
    patterns |= {"reversed": 31 - lane, "columns 16": lane % 16 * 16 + lane // 16}
    # Lanes at a distance of 2, 4, 8 or 16 that access the same element. Wide elements then take fewer passes.
    patterns |= {f"{x} apart the same": lane - (lane & x) for x in (2, 4, 8, 16)}
    patterns["1 and 2 apart the same, apart"] = lane // 4 * 33
    patterns["2 apart the same, one half"] = _only(lane - (lane & 2), lane < 16)
    patterns["one pair differs"] = np.where(lane == 9, 40, lane // 2)
    patterns["columns 17"] = lane % 16 * 17 + lane // 16
    patterns["random 32"] = np.random.default_rng(2).permutation(32)
    patterns["random 1024"] = np.random.default_rng(3).integers(0, 1024, 32)
    patterns["random 64"] = np.random.default_rng(4).integers(0, 64, 32)
    patterns["even lanes, stride 2"] = _only(lane * 2, lane % 2 == 0)
    patterns["even lanes, stride 32"] = _only(lane * 32, lane % 2 == 0)
    patterns["first 16, stride 2"] = _only(lane * 2, lane < 16)
    patterns["one lane"] = _only(lane, lane == 5)
    patterns["lanes 0 and 16, 32 apart"] = _only(lane * 2, lane % 16 == 0)
    patterns["no lane"] = _only(lane, lane < 0)
    return patterns


def _global_patterns() -> dict[str, Pattern]:
    lane: Pattern = np.arange(32, dtype=np.int64)
    patterns = {f"stride {s}": lane * s for s in (1, 2, 3, 4, 8, 9, 32)}
    patterns |= {f"start {s}": lane + s for s in (1, 2, 4, 7, 8, 16, 31)}
    patterns |= {"broadcast": lane * 0, "halves": lane // 16, "reversed": 31 - lane}
    patterns |= {
        "half rows 65": lane // 16 * 65 + lane % 16,
        "quarter rows 47": lane // 8 * 47 + lane % 8 + 1,
    }
    patterns["random 32"] = np.random.default_rng(2).permutation(32)
    patterns["random 4096"] = np.random.default_rng(3).integers(0, 4096, 32)
    patterns["even lanes"] = _only(lane, lane % 2 == 0)
    patterns["every eighth lane"] = _only(lane, lane % 8 == 0)
    patterns["holes"] = _only(lane + 3, np.isin(lane % 11, (0, 1, 5, 7)))
    patterns["one lane"] = _only(lane, lane == 5)
    patterns["no lane"] = _only(lane, lane < 0)
    return patterns


def _few_patterns() -> dict[str, Pattern]:
    wanted = ("stride 1", "stride 2", "stride 32", "broadcast", "start 7", "holes", "random 4096", "no lane")
    patterns = _global_patterns()
    few = {name: patterns[name] for name in wanted}
    few["random 4096"] = few["random 4096"] % 2048
    return few


def _constant_patterns() -> dict[str, Pattern]:
    lane: Pattern = np.arange(32, dtype=np.int64)
    return {"broadcast": lane * 0, "stride 1": lane, "halves": lane // 16, "no lane": lane * 0 - 1}


def _only(values: Pattern, lanes: npt.NDArray[np.bool_]) -> Pattern:
    return np.where(lanes, values, np.int64(-1))


def _arithmetic() -> Iterator[NsightLaunch]:
    text = (KERNELS / "arithmetic.cu").read_text(encoding="utf-8")
    rows: list[tuple[str, str, int]] = [
        ("float", "x / y", 32),
        ("float", "x / y", 20),
        ("float", "sqrtf(x)", 32),
        ("float", "expf(-x)", 32),
        ("float", "logf(x)", 32),
        ("float", "sinf(x)", 32),
        ("float", "rsqrtf(x)", 32),
        ("float", "1.0f / x", 32),
        ("float", "__fdividef(x, y)", 32),
        ("float", "x * y + 1.0f", 32),
        ("float", "fmaf(x, y, x) + x * x * 0.5f", 20),
        ("float", "powf(x, y)", 32),
        ("int", "x / y + 7", 32),
        ("int", "x % y + 7", 32),
        ("double", "x / y", 32),
        ("double", "x * y + 1.0", 32),
        ("double", "sqrt(x)", 32),
    ]
    for ty, expression, lanes in rows:

        def arguments(ty: str = ty, lanes: int = lanes) -> list[Any]:
            dtype = {"float": np.float32, "double": np.float64, "int": np.int32}[ty]
            rng = np.random.default_rng(SEED)
            xs, ys = (rng.uniform(1.25, 3.5, 256) * (1 if ty != "int" else 50) for _ in range(2))
            return [xs.astype(dtype), ys.astype(dtype), np.zeros(256, dtype), np.int32(lanes)]

        source = KernelSource(f"arithmetic {ty} {expression}", text, {"TYPE": ty, "EXPRESSION": expression})
        name = f"arithmetic {ty} {expression} {lanes}"
        yield NsightLaunch("micro", name, source, "arithmetic", (2, 1, 1), (128, 1, 1), arguments)


def _branches() -> Iterator[NsightLaunch]:
    source = KernelSource("branches", (KERNELS / "branches.cu").read_text(encoding="utf-8"), {})
    rows = [("if_else", 1), ("if_else", 5), ("own_trip_counts", 11), ("own_trip_counts", 32)]
    rows += [
        ("unrolled_trip_counts", 11),
        ("unrolled_trip_counts", 32),
        ("leave_early", 20),
        ("leave_early", 31),
    ]
    rows += [("break_out", 9), ("break_out", 40), ("tree_sum", 128), ("shared_pairs", 6)]
    for kernel, number in rows:

        def arguments(number: int = number) -> list[Any]:
            values = np.random.default_rng(SEED).random(1024, dtype=np.float32)
            return [values, np.zeros(1024, np.float32), np.int32(number)]

        yield NsightLaunch("micro", f"{kernel} {number}", source, kernel, (2, 1, 1), (256, 1, 1), arguments)
