"""Run `gpulab.sanitize` on the CUDA kernels of GPURepair's test suite.

python -m benchmarks.races.gpurepair FOLDER [--kernels TEXT]
python -m benchmarks.races.gpurepair --table

FOLDER is the repository of GPURepair, which is not part of gpulab:
https://github.com/cs17resch01003/gpurepair. The first form launches every kernel, stores what gpulab reports
in benchmarks/figures/gpurepair.json and writes docs/races.md. With --kernels, it prints the reports of the
kernels whose names contain TEXT and stores nothing. The second form writes docs/races.md from the stored
figures. Kernels that use cuRAND need the extra `curand`.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import cache
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.races.gpurepair_page import RepairVerdict, repair_summary, store_repair_verdicts
from benchmarks.races.gpurepair_suite import RepairKernel, is_labelled_racy, read_repair_suite
from benchmarks.races.indigo_page import write_page
from gpulab.compiler.program import Parameter
from gpulab.errors import GpulabError

__all__ = ["check_repair_kernel", "main"]

BEFORE = 1 << 16  # elements before the start of an array, for kernels with halos
SHARED_BYTES = 1 << 15  # of kernels with dynamic shared memory
# Arguments for kernels that state no requirement, or for which a race needs certain ones. By default, an
# integer is the number of threads. "elements": of each array.
ARGUMENTS: dict[str, dict[str, int]] = {
    "CUDA/misc/fail/miscfail3": {"offset": 1},
    "CUDA/misc/fail/miscfail4": {"offset": 1},
    "CUDA/param_values/value_causing_race": {"x": 185},
    "CUDA/transitiveclosure": {"passnum": 1},
    "CUDASamples/3_Imaging_convolutionSeparable_convolutionColumnsKernel": {"elements": 3072 * 3200},
    "CUDASamples/3_Imaging_convolutionSeparable_convolutionRowsKernel": {
        "elements": 3072 * 3200, "imageW": 3072, "imageH": 3072,
    },
    "CUDASamples/3_Imaging_dwtHaar1D_dwtHaar1D": {"dlevels": 9},
    "CUDASamples/3_Imaging_histogram_mergeHistogram256Kernel": {"histogramCount": 256},
    "CUDASamples/3_Imaging_histogram_mergeHistogram64Kernel": {"histogramCount": 256},
    "CUDASamples/4_Finance_SobolQRNG_sobol": {"elements": 100 * 100_000},
    "CUDASamples/6_Advanced_mergeSort_generateSampleRanksKernel": {
        "stride": 256, "N": 16384, "threadCount": 64,
    },
    "CUDASamples/6_Advanced_mergeSort_mergeRanksAndIndicesKernel": {
        "stride": 256, "N": 16384, "threadCount": 64,
    },
    "CUDASamples/6_Advanced_scan_scanExclusiveShared": {"size": 1024},
    "CUDASamples/6_Advanced_scan_scanExclusiveShared2": {"arrayLength": 256, "elements": 1024 * 6656},
    "CUDASamples/6_Advanced_shfl_scan_shfl_intimage_rows": {"elements": 1 << 22},
    "CUDASamples/6_Advanced_shfl_scan_shfl_vertical_shfl": {"elements": 1 << 22},
    "CUDASamples/6_Advanced_shfl_scan_shfl_scan_test": {"width": 32},
    "CUDASamples/6_Advanced_transpose_transposeNaive": {"width": 1024, "nreps": 1},
}  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.races.gpurepair")
    parser.add_argument("folder", type=Path, nargs="?", help="the repository of GPURepair")
    parser.add_argument("--kernels", metavar="TEXT", help="print the reports of these kernels")
    parser.add_argument("--table", action="store_true", help="write the page from the stored figures")
    options = parser.parse_args(arguments)
    if (options.folder is None) != options.table:
        parser.error("give the repository of GPURepair, or --table")
    if not options.table:
        verdicts = []
        for kernel in read_repair_suite(options.folder):
            if (options.kernels or "") in kernel.name:
                verdicts.append(check_repair_kernel(kernel))
                print(kernel.name, verdicts[-1].label, verdicts[-1].report, verdicts[-1].detail, flush=True)
        if options.kernels:
            return
        store_repair_verdicts(verdicts)
    print("\n".join(repair_summary()))
    write_page()


def check_repair_kernel(repair_kernel: RepairKernel) -> RepairVerdict:
    """Launch one kernel under `gpulab.sanitize`."""
    from gpulab import sanitize

    label = "race" if is_labelled_racy(repair_kernel) else "none"
    try:
        kernel = _simulator().compile(repair_kernel.source, repair_kernel.instance, repair_kernel.macros)
        if repair_kernel.is_cooperative:
            kernel = kernel.module.get_function(kernel.name, cooperative=True)
        shared = SHARED_BYTES if "extern __shared__" in repair_kernel.text else 0
        arrays: list[Any] = []  # those of structures must outlive the launch
        values = _arguments(repair_kernel, kernel.program.signatures[kernel.name], arrays)
        findings = sanitize(kernel, repair_kernel.grid, repair_kernel.block, values, shared)
    except GpulabError as error:
        return RepairVerdict(repair_kernel.name, label, "not run", str(error).partition("\n")[0])
    reports = {"racecheck": "race", "synccheck": "barrier"}
    kinds = sorted({reports.get(finding.tool, finding.tool) for finding in findings})
    report = next((each for each in ("race", "barrier") if each in kinds), "none")
    return RepairVerdict(repair_kernel.name, label, report, ", ".join({*kinds} - {report}))


def _arguments(kernel: RepairKernel, signature: Sequence[Parameter], arrays: list[Any]) -> list[Any]:
    """Return arguments for a launch: arrays of 0, 1, 2, …, and the numbers that the kernel requires.

    The arrays of structures are also added to `arrays`.
    """
    threads = prod(kernel.grid) * prod(kernel.block)
    numbers = kernel.required | ARGUMENTS.get(kernel.name, {})
    elements = numbers.get("elements", 4 * threads + (1 << 20))

    def argument(parameter: Parameter) -> Any:
        if parameter.kind == "pointer":
            return _ramp(elements, parameter.element or "int32")
        if parameter.kind == "bytes":  # of the suite, structures of pointers
            members = [_ramp(elements, "int32") for _ in range(parameter.size // 8)]
            arrays.extend(members)
            addresses = np.array([array.allocation.address for array in members], np.uint64)
            return addresses.tobytes().ljust(parameter.size, b"\0")
        is_count = parameter.kind != "float" and parameter.size >= 4
        return numbers.get(parameter.name, threads if is_count else 1)

    return [argument(parameter) for parameter in signature]


def _ramp(elements: int, dtype: str) -> Any:
    return _simulator().asarray(np.arange(-BEFORE, elements).astype(dtype))[BEFORE:]


@cache
def _simulator() -> Any:
    import gpulab

    return gpulab.device("sim")


if __name__ == "__main__":
    main()
