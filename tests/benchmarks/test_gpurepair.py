"""Labels and launches of `benchmarks.races.gpurepair`, and its verdicts on kernels of the suite's form."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from benchmarks.races.gpurepair import check_repair_kernel
from benchmarks.races.gpurepair_page import (
    DIFFERENCES,
    RepairVerdict,
    read_repair_verdicts,
    repair_section,
    repair_summary,
)
from benchmarks.races.gpurepair_suite import RepairKernel, is_labelled_racy, read_repair_suite
from gpulab.errors import UsageError


def write_kernel(folder: Path, name: str, body: str, options: str = "", label: str = "pass") -> RepairKernel:
    """Write a kernel `k(int* A, int* B, int n)` to a folder as in the suite."""
    path = folder / "tests" / "testsuite" / name / "kernel.cu"
    path.parent.mkdir(parents=True)
    text = f"#include <cuda.h>\n__global__ void k(int* A, int* B, int n) {{\n{body}\n}}\n"
    path.write_text(f"//{label}\n//{options}\n{text}", encoding="utf-8")
    return RepairKernel(name, path)


@pytest.mark.parametrize(
    ("name", "label", "body", "racy"),
    [
        ("CUDA/atomics/one", "pass", "", False),
        ("CUDA/atomics/two", "xfail:REPAIR_ERROR", "", True),
        ("CUDA/atomics/three", "xfail:ASSERTION_ERROR", "", False),
        ("CUDA/loop_unwind", "pass", "", True),
        ("CUDASamples/one", "pass", "__syncthreads();", False),
        ("CUDASamples/two", "xfail:TIMEOUT", "  // __syncthreads();", True),
        ("Bugged/race", "pass", "", True),
        ("Bugged_Cooperative/unnecessary_barrier", "pass", "", False),
        ("MicroBenchmarks/one", "pass", "", True),
    ],
)
def test_label_of_a_kernel(name: str, label: str, body: str, racy: bool, tmp_path: Path) -> None:
    assert is_labelled_racy(write_kernel(tmp_path, name, body, label=label)) is racy


def test_launch_is_that_of_the_options(tmp_path: Path) -> None:
    body = "__requires(n == 12);"
    kernel = write_kernel(tmp_path, "CUDA/a", body, "--blockDim=[64,64] --gridDim=3 -DWIDTH=7")
    assert (kernel.grid, kernel.block) == ((3,), (64, 16))
    assert (kernel.macros, kernel.required, kernel.instance) == ({"WIDTH": "7"}, {"n": 12}, None)


def test_suite_is_read_from_the_repository(tmp_path: Path) -> None:
    for name in ("CUDA/b", "Bugged/a"):
        write_kernel(tmp_path, name, "")
    assert [kernel.name for kernel in read_repair_suite(tmp_path)] == ["Bugged/a", "CUDA/b"]
    with pytest.raises(UsageError):
        read_repair_suite(tmp_path / "tests")


@pytest.mark.parametrize(
    ("body", "report", "detail"),
    [
        ("A[threadIdx.x] = A[threadIdx.x + 1];", "race", ""),
        ("A[threadIdx.x] = B[threadIdx.x + 1];", "none", ""),
        ("if (threadIdx.x < 7) __syncthreads();", "barrier", ""),
        ("A[-(int) threadIdx.x] = __add_noovfl(n, 1); __assert(false);", "none", ""),
        ("A[1 << 28] = 0;", "none", "memcheck"),
        ("__requires(n == 3); if (n != 3) A[0] = threadIdx.x;", "none", ""),
    ],
)
def test_verdict_of_a_kernel(body: str, report: str, detail: str, tmp_path: Path) -> None:
    kernel = write_kernel(tmp_path, "CUDA/a", body, "--blockDim=32 --gridDim=1")
    assert check_repair_kernel(kernel) == RepairVerdict("CUDA/a", "none", report, detail)


def test_kernel_that_does_not_compile_is_not_run(tmp_path: Path) -> None:
    kernel = write_kernel(tmp_path, "Bugged/a", "missing();")
    verdict = check_repair_kernel(kernel)
    assert (verdict.label, verdict.report, verdict.differs) == ("race", "not run", False)
    assert "missing" in verdict.detail


def test_summary_counts_labels_and_reports() -> None:
    verdicts = [
        RepairVerdict("CUDA/a", "race", "race"),
        RepairVerdict("CUDA/b", "race", "none"),
        RepairVerdict("CUDA/c", "none", "barrier"),
        RepairVerdict("CUDA/d", "none", "not run", "line 1: error"),
    ]
    assert "| CUDA | 4 | 3 | 2 | 1 | 1 | 1 |" in repair_summary(verdicts)
    assert any("CUDA/d" in line for line in repair_section(verdicts))


def test_each_stored_difference_has_one_reason() -> None:
    named = Counter(name for names in DIFFERENCES.values() for name in names)
    differing = Counter(verdict.name for verdict in read_repair_verdicts() if verdict.differs)
    assert named == differing
