"""Measure the versions of the open steps on a GPU, and compare them with a copy and the vendor's SGEMM.

python -m benchmarks.limits [--out FILE]

Needs a CUDA GPU and CuPy; with ncu on the path, the bytes that DRAM moved stand beside those that a kernel
must move. The versions are those of grading/solutions.md and of the source notebooks. The tables that are
printed show the figures of the file, and grading/solutions.md quotes them.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gpulab.cell import parse_cell, require_kernel_cell

ROOT = Path(__file__).parents[1]
SIZES = {"stencil": ((512, 512, 512), (768, 768, 768)), "matmul": ((4096,) * 3, (8192,) * 3)}
BASELINES = {"stencil": "copy", "matmul": "sgemm"}
ROUNDS = 15
METRICS = ("dram__bytes_read.sum", "dram__bytes_write.sum")

FLOAT4_STORES = (
    """        for (int u = 0; u < TILE_X; ++u) {
            int i = i0 + ti + u / 4 * 32 + u % 4, j = j0 + tj + 4 * v;
            if (i < n && j < m)
                a[i + n * j] = sum[v][u];
        }""",
    """        for (int u = 0; u < TILE_X; u += 4) {
            int i = i0 + ti + u / 4 * 32, j = j0 + tj + 4 * v;
            if (i < n && j < m)                                  // n is a multiple of 4
                *(float4*)&a[i + n * j] = *(const float4*)&sum[v][u];
        }""",
)


@dataclass(frozen=True)
class Version:
    """A version of an open step.

    Attributes
    ----------
    number : int
        As in grading/solutions.md.
    idea : str
        What it changes.
    text : str
        The kernel cell.
    """

    number: int
    idea: str
    text: str

    def changed(self, number: int, idea: str, *edits: tuple[str, str], geometry: str = "") -> Version:
        """Return another version, with text replaced; `geometry` replaces the header's block and tile."""
        text = self.text
        if geometry:
            text = re.sub(r"--block .*", geometry, text, count=1)
        for old, new in edits:
            if old not in text:
                raise ValueError(f"version {self.number} does not contain {old!r}")
            text = text.replace(old, new)
        return replace(self, number=number, idea=idea, text=text)


def printed(kernel: str, number: int, idea: str) -> Version:
    """Return a version that grading/solutions.md prints in full; 0 is the only one of its step."""
    page = (ROOT / "grading" / "solutions.md").read_text(encoding="utf-8")
    for text in re.findall(r"```c\n(.*?)```", page, re.DOTALL):
        if text.startswith(f"// %%cuda {kernel} ") and (
            re.search(rf"\n// Version {number}\b", text) or not number
        ):
            return Version(number, idea, text)
    raise ValueError(f"grading/solutions.md does not print version {number} of {kernel}")


def solution(kernel: str, number: int, idea: str) -> Version:
    """Return the solution of the source notebook."""
    for path in (ROOT / "labs").glob("*/*.ipynb"):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            text = "".join(cell["source"])
            if text.startswith(f"%%cuda {kernel} "):
                return Version(number, idea, text)
    raise ValueError(f"no notebook has a solution of {kernel}")


def versions() -> dict[str, list[Version]]:
    """Return the versions of each open step, in order."""
    rolling = printed("stencil.opt_4", 1, "frames roll through registers")
    vectors = solution("stencil.opt_4", 4, "z split over blocks: the solution")
    slices = printed("matmul.K6", 3, "two slices of each, one barrier per slice")
    copies = printed("matmul.K6", 8, "8 x 16 sums by half as many threads, three slices")
    interleaved = printed("matmul.K6", 11, "lanes interleaved")
    serpentine = interleaved.changed(
        10,
        "sums in a serpentine order",
        ("li = lane / 2 % 8, lj = lane / 16 * 2 + lane % 2", "li = lane % 8, lj = lane / 8"),
    )
    two_slices, square = ("SLICES = 3", "SLICES = 2"), "--block 16 16 --tile 8 8"
    return {
        "stencil.opt_4": [
            rolling,
            rolling.changed(
                2,
                "the division before the loop",
                ("    for (int z", "    float weight = 6.0f / (fac * fac);\n    for (int z"),
                ("6.0f * here / (fac * fac)", "weight * here"),
            ),
            vectors.changed(3, "four points in x, with float4", geometry="--block 16 8 --tile 4 1 0"),
            vectors,
            vectors.changed(5, "another block and piece", geometry="--block 32 8 --tile 4 1 6"),
            printed("stencil.opt_4", 6, "the top frame one round ahead, six blocks on an SM"),
        ],
        "stencil.opt_5": [printed("stencil.opt_5", 0, "two steps in one pass")],
        "matmul.K6": [
            printed("matmul.K6", 1, "slices in shared memory, 8 x 8 sums in registers"),
            slices,
            slices.changed(
                4, "rows of the slice of c padded by 4", ("[COLUMNS];        //", "[COLUMNS + 4];    //")
            ),
            solution("matmul.K6", 5, "results stored through shared memory: the solution"),
            copies.changed(
                6, "16-byte copies past the registers", two_slices, FLOAT4_STORES, geometry=square
            ),
            copies.changed(7, "single stores", two_slices, geometry=square),
            copies,
            serpentine.changed(
                9,
                "values of the next k read while those of this k are used",
                ("int u = v % 2 ? TILE_X - 1 - w : w;", "int u = w;"),
            ),
            serpentine,
            interleaved,
        ],
    }


def measure(kernel: str, version: Version, device: Any) -> Iterator[dict[str, Any]]:
    """Yield the figures of a version at each size."""
    from gpulab.profiling.baseline import time_against_baseline

    cell = require_kernel_cell(parse_cell(version.text))
    config = cell.config
    compiled = device.compile(cell.source, config.kernel_name, defines=config.defines)
    problem = config.problem
    for shape in SIZES[problem.name]:
        times = time_against_baseline(
            compiled, config, device=device, of=BASELINES[problem.name], shape=shape, rounds=ROUNDS
        )
        yield {
            "kernel": kernel,
            "version": version.number,
            "idea": version.idea,
            "block": list(config.block),
            "tile": list(config.tile),
            "registers": compiled.resources.registers,
            "shared_bytes": compiled.resources.shared_bytes,
            "shape": list(shape),
            "ms": times.kernel.median_ms,
            "baseline_ms": times.baseline.median_ms,
            "share": times.fraction,
            "rate": times.kernel_rate,
            "unit": times.unit,
            "compulsory_bytes": problem.compulsory_bytes(shape),
            "provenance": str(times.kernel.provenance),
        }


def launch_all(device: Any) -> None:
    """Launch every version once at every size, in the order of the figures, for ncu."""
    import numpy as np

    from gpulab.verification.inputs import place_arguments

    for each in versions().values():
        for version in each:
            cell = require_kernel_cell(parse_cell(version.text))
            compiled = device.compile(cell.source, cell.config.kernel_name, defines=cell.config.defines)
            for shape in SIZES[cell.config.problem.name]:
                launch = cell.config.at(shape, device.spec)
                arguments = cell.config.problem.arguments(shape, np.random.default_rng(0))
                arrays = place_arguments(device, arguments)
                compiled(launch.grid, launch.block, list(arrays.values()))
                device.free_unused_memory()


def dram_bytes() -> list[float] | None:
    """Return the bytes that DRAM moved in each launch of `launch_all`; None without ncu."""
    from benchmarks.counters.nsight import profiled_launches

    ncu = shutil.which("ncu")
    if ncu is None:
        return None
    command = [
        ncu, "--clock-control", "none", "--metrics", ",".join(METRICS), "--csv", "--page", "raw",
        "--print-units", "base", "--kernel-name", "regex:block2D|mmkernel",
        sys.executable, "-m", "benchmarks.limits", "--launch-all",
    ]  # fmt: skip
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=400)
    launches = profiled_launches(run.stdout)
    if not launches:
        print(f"ncu printed no table:\n{run.stdout[-1000:]}\n{run.stderr[-1000:]}", file=sys.stderr)
        return None
    return [sum(one["metrics"][metric] for metric in METRICS) for one in launches]


def measure_all(out: Path) -> dict[str, Any]:
    """Measure every version, write the figures and return them."""
    import gpulab
    from gpulab.compiler.nvrtc import version as nvrtc_version
    from gpulab.devices.cuda.nvml import open_nvml

    device = gpulab.device("cuda:0")
    rows = [
        row
        for kernel, each in versions().items()
        for version in each
        for row in measure(kernel, version, device)
    ]
    device.free_unused_memory()
    moved = dram_bytes()
    if moved is not None and len(moved) == len(rows):
        for row, nbytes in zip(rows, moved, strict=True):
            row["dram_bytes"] = nbytes
    nvml = open_nvml()
    figures = {
        "device": device.name,
        "driver": nvml.driver_version() if nvml else "",
        "nvrtc": ".".join(map(str, nvrtc_version())),
        "date": datetime.now(UTC).date().isoformat(),
        "launches": rows,
    }
    out.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return figures


def tables(figures: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a table for each step and size, in Markdown."""
    yield f"{figures['device']}, driver {figures['driver']}, NVRTC {figures['nvrtc']}, {figures['date']}"
    rows = figures["launches"]
    for kernel, shape in dict.fromkeys((row["kernel"], tuple(row["shape"])) for row in rows):
        yield f"\n{kernel} at {' x '.join(map(str, shape))}\n"
        yield "| version | idea | block, tile | registers | ms | of the baseline | GB must move | GB moved |"
        yield "|---|---|---|---|---|---|---|---|"
        for row in rows:
            if (row["kernel"], tuple(row["shape"])) != (kernel, shape):
                continue
            geometry = " x ".join(map(str, row["block"][:2])) + ", " + " ".join(map(str, row["tile"]))
            moved = f"{row['dram_bytes'] / 1e9:.3f}" if "dram_bytes" in row else ""
            yield (
                f"| {row['version']} | {row['idea']} | {geometry} | {row['registers']} | {row['ms']:.4f} | "
                f"{row['share']:.1%} | {row['compulsory_bytes'] / 1e9:.3f} | {moved} |"
            )


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.limits", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(os.environ.get("OUT", ".")) / "limits.json")
    parser.add_argument("--launch-all", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.launch_all:
        import gpulab

        launch_all(gpulab.device("cuda:0"))
        return 0
    print("\n".join(tables(measure_all(options.out))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
