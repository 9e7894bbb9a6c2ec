"""PoCL as an engine: OpenCL on the CPU, with the same kernels in OpenCL C and the same group sizes.

The wheel contains PoCL 3.0 with LLVM 14, which calls a newer CPU `generic` and then refuses to build for it.
`name_the_cpu` replaces that name by the nearest CPU that it supports, so that PoCL runs at its best on such a
machine, too.
"""

from __future__ import annotations

import os
import struct
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.simulators.engines import Engine
from benchmarks.simulators.workloads import Workload, WorkloadLaunch

__all__ = ["Pocl", "name_the_cpu"]


def name_the_cpu(device: Any) -> str:
    """Replace the name `generic` of the device's CPU. Return the new name, or "" if nothing was replaced.

    PoCL has no option for it. The name is a heap string that the device structure points to, and every
    compilation reads it there. Memory is read through /proc/self/mem, where reading a word that is no pointer
    fails instead of crashing.
    """
    cpuinfo = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    if "avx2" not in cpuinfo:
        return ""
    # At most 15 characters: malloc reserved at least 24 bytes for `generic`.
    name = "znver3" if "AuthenticAMD" in cpuinfo else "skylake-avx512" if "avx512bw" in cpuinfo else "haswell"
    memory = os.open("/proc/self/mem", os.O_RDWR)

    def peek(address: int, size: int) -> bytes:
        try:
            return os.pread(memory, size, address)
        except (OSError, OverflowError):
            return b""

    try:
        words = peek(device.int_ptr, 4096)
        pointers = struct.unpack(f"{len(words) // 8}Q", words[: len(words) // 8 * 8])
        addresses = [p for p in pointers if 4096 < p < 1 << 47 and peek(p, 8) == b"generic\0"]
        if len(addresses) != 1:
            return ""
        os.pwrite(memory, name.encode() + b"\0", addresses[0])
        return name
    finally:
        os.close(memory)


class Pocl(Engine):
    """PoCL on all cores.

    With `hinted`, it runs kernels that have additional barriers. The algorithm does not need them, but they
    make PoCL vectorise across work-items.
    """

    def __init__(self, *, hinted: bool = False) -> None:
        # A separate cache, because PoCL would use code that was cached for another CPU.
        self._cache = tempfile.TemporaryDirectory(prefix="gpulab-pocl-")
        os.environ["POCL_CACHE_DIR"] = self._cache.name
        import pyopencl as cl

        self._cl = cl
        self._suffix = ".hinted.cl" if hinted else ".cl"
        self.name = "PoCL, hinted" if hinted else "PoCL"
        platforms = [p for p in cl.get_platforms() if "Portable Computing Language" in p.name]
        if not platforms:
            raise RuntimeError("pyopencl finds no PoCL platform; install pocl-binary-distribution")
        devices = platforms[0].get_devices()
        named = name_the_cpu(devices[0])
        if hinted:
            self.version = "the same kernels with additional barriers, so that PoCL vectorises them"
        else:
            cpu = f"; its LLVM does not support this CPU and compiles for {named}" if named else ""
            self.version = platforms[0].version.split("  ")[0] + cpu
        self._context = cl.Context(devices)
        self._queue = cl.CommandQueue(self._context)

    def has(self, workload: Workload) -> bool:
        return workload.file(self._suffix).exists()

    def prepare(self, workload: Workload) -> WorkloadLaunch:
        cl, launch = self._cl, workload.launch
        source = workload.file(self._suffix).read_text(encoding="utf-8")
        # NVRTC contracts a*b+c by default; -cl-mad-enable lets PoCL do the same.
        program = cl.Program(self._context, source).build(options=["-cl-mad-enable"])
        self._kernel = getattr(program, workload.kernel)
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        # Stored, because a kernel does not keep its buffers alive.
        self._arguments = [
            cl.Buffer(self._context, flags, hostbuf=a) if isinstance(a, np.ndarray) else a
            for a in launch.arguments
        ]
        self._kernel.set_args(*self._arguments)
        self._global = tuple(g * b for g, b in zip(launch.grid, launch.block, strict=True))
        self._local = launch.block
        self.run()
        result = np.empty_like(launch.arguments[launch.output])
        cl.enqueue_copy(self._queue, result, self._arguments[launch.output])
        launch.check(result, self.name)
        return launch

    def run(self) -> float:
        start = perf_counter()
        self._cl.enqueue_nd_range_kernel(self._queue, self._kernel, self._global, self._local)
        self._queue.finish()
        return perf_counter() - start

    def close(self) -> None:
        self._cache.cleanup()
