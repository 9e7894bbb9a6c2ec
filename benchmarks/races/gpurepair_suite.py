"""The CUDA kernels of GPURepair's test suite: their launches, and the errors that the suite states.

GPURepair (Joshi and Muduganti, VMCAI 2021) inserts missing barriers. Its suite contains the CUDA tests of
GPUVerify, kernels of NVIDIA's SDK, the micro-benchmarks of AutoSync and kernels of its own:
https://github.com/cs17resch01003/gpurepair
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from pathlib import Path

from gpulab.errors import UsageError

__all__ = ["SETS", "RepairKernel", "is_labelled_racy", "read_repair_suite"]

SETS = ("Bugged", "Bugged_Cooperative", "CUDA", "CUDASamples", "MicroBenchmarks")
MAX_THREADS = 1024  # of a block
# Tests in which GPUVerify finds a race (https://github.com/mc-imperial/gpuverify, testsuite/CUDA) although
# GPURepair's comment is `pass`, as it repairs them, or `TIMEOUT`.
GPUVERIFY_RACES = frozenset(
    f"CUDA/{name}"
    for name in (
        "loop_unwind", "memcpy/fail_overstep", "memcpy/lentoobig", "memcpy/notexactdiv",
        "misc/fail/miscfail3", "misc/fail/miscfail4", "param_values/value_causing_race",
        "pointeranalysistests/testbasicaliasing", "pointertests/cast", "warpsync/bad_inter_group",
        "warpsync/broken_shuffle",
    )
)  # fmt: skip
# The annotations of GPUVerify, and functions of the compilers that it uses.
_PRELUDE = """
#define __requires(...) ((void)0)
#define __ensures(...) ((void)0)
#define __requires_fresh_array(...) ((void)0)
#define __global_invariant(...) ((void)0)
#define __invariant(...) ((void)0)
#define __assert(...) ((void)0)
#define __assume(...) ((void)0)
#define __axiom(...) static_assert(true, "")
#define __add_noovfl(a, b) ((a) + (b))
#define __builtin_memcpy memcpy
#define __builtin_memset memset
#define __shfl_up(value, count, ...) __shfl_up_sync(0xffffffff, value, count)
#define __shfl_xor(value, mask, ...) __shfl_xor_sync(0xffffffff, value, mask)
#define clock_t suite_clock_t
"""
_GROUPS = """
#include <cooperative_groups.h>
template <class Group> __device__ void synchronize(Group group) { group.sync(); }
"""
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"]+)[>"].*$', re.MULTILINE)
_INSTANCE = re.compile(r"^template\s+__global__\s+void\s+(\w+\s*<[^>]*>)", re.MULTILINE)
_EQUAL = re.compile(r"__requires\(\s*(\w+)\s*==\s*(\d+)")
_REMOVED_BARRIER = re.compile(r"^\s*//\s*\w*syncthreads\s*\(", re.MULTILINE)


@dataclass(frozen=True)
class RepairKernel:
    """One kernel of the suite.

    Attributes
    ----------
    name : str
        Its folder, from the folder of all tests on, such as `CUDA/atomics/add_one`.
    path : Path
        The source file.
    """

    name: str
    path: Path

    @cached_property
    def text(self) -> str:
        """The source file, with the suite's headers at their places."""
        return _INCLUDE.sub(lambda found: _read(self.path.with_name(found[1])), _read(self.path))

    @property
    def set_name(self) -> str:
        return self.name.partition("/")[0]

    @property
    def expectation(self) -> str:
        """The first comment of the file: `pass`, or the error with which GPURepair is expected to end."""
        return self.text.partition("\n")[0].lstrip("/").removeprefix("xfail:").strip()

    @property
    def options(self) -> str:
        """The second comment of the file: the options of the tool."""
        return self.text.split("\n", 2)[1]

    @property
    def instance(self) -> str | None:
        """The instance of a kernel template, such as `reduce0<int>`; None if the kernel is no template."""
        found = _INSTANCE.findall(self.text)
        return re.sub(r"\s", "", found[-1]) if found else None

    @property
    def grid(self) -> tuple[int, ...]:
        return self._shape("gridDim")

    @property
    def block(self) -> tuple[int, ...]:
        """The shape of a block, halved from the last axis on until CUDA allows its number of threads."""
        shape = list(self._shape("blockDim"))
        while prod(shape) > MAX_THREADS:
            axis = max(axis for axis, extent in enumerate(shape) if extent > 1)
            shape[axis] //= 2
        return tuple(shape)

    def _shape(self, option: str) -> tuple[int, ...]:
        found = re.search(rf"--{option}=(\S+)", self.options)
        return tuple(map(int, re.findall(r"\d+", found[1]))) if found else (1,)

    @property
    def macros(self) -> dict[str, str]:
        return dict(re.findall(r"-D(\w+)=(\w+)", self.options))

    @property
    def required(self) -> dict[str, int]:
        """The parameters for which the kernel requires one value."""
        return {name: int(value) for name, value in _EQUAL.findall(self.text)}

    @property
    def is_cooperative(self) -> bool:
        return "this_grid" in self.text

    @property
    def source(self) -> str:
        """The text that is compiled."""
        headers = _GROUPS if "cooperative_groups" in self.text else ""
        headers += "#include <curand_kernel.h>\n" if "curand" in self.text else ""
        return headers + _PRELUDE + self.text


def is_labelled_racy(kernel: RepairKernel) -> bool:
    """Return True if the suite states a race or a divergent barrier.

    GPURepair's expectation `pass` is no statement: the tool can have repaired the kernel. In the SDK's
    kernels the barriers have been made comments, and of the suite's own kernels one in each set is right.
    """
    if kernel.expectation == "REPAIR_ERROR" or kernel.name in GPUVERIFY_RACES:
        return True
    if kernel.set_name == "CUDASamples":
        return bool(_REMOVED_BARRIER.search(kernel.text))
    return kernel.set_name != "CUDA" and not kernel.name.endswith("unnecessary_barrier")


def read_repair_suite(folder: Path) -> Sequence[RepairKernel]:
    """Return the CUDA kernels of the suite, by name."""
    root = folder / "tests" / "testsuite"
    paths = [path for name in SETS for path in (root / name).rglob("kernel.cu")]
    if not paths:
        raise UsageError(f"{folder} has no folder `tests/testsuite` with kernels; give GPURepair's folder.")
    kernels = [RepairKernel(path.parent.relative_to(root).as_posix(), path) for path in paths]
    return sorted(kernels, key=lambda kernel: kernel.name)


def _read(path: Path) -> str:
    """Return the text of a file; an empty string for a header that the suite does not contain."""
    return path.read_text(encoding="utf-8-sig", errors="replace").replace("\r", "") if path.exists() else ""
