"""Process that runs the workloads' kernels, written in Python, on Numba's CUDA simulator.

It reads one JSON request per line and answers with seconds. It is a separate process because Numba reads
NUMBA_ENABLE_CUDASIM when it is imported.
"""

from __future__ import annotations

import json
import sys
import warnings
from time import perf_counter
from typing import Any

warnings.simplefilter("ignore")

import numba  # noqa: E402
import numpy as np  # noqa: E402
from numba import cuda  # noqa: E402

from benchmarks.simulators.workloads import WORKLOADS  # noqa: E402

SIDE = 16  # of a tile
POINTS = 4  # of each thread, on both axes


@cuda.jit
def stencil_naive(fac, A0, Anext, nx, ny, nz):
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    j = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
    if i < 1 or j < 1 or i >= nx - 1 or j >= ny - 1:
        return
    plane = nx * ny
    for k in range(1, nz - 1):
        p = i + nx * j + plane * k
        Anext[p] = (
            A0[p + 1] + A0[p - 1] + A0[p + nx] + A0[p - nx] + A0[p + plane] + A0[p - plane]
            - np.float32(6) * A0[p] / (fac * fac)
        )  # fmt: skip


@cuda.jit
def sgemm_k1(a, b, c, n, m, p):
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    j = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
    if i >= n or j >= m:
        return
    total = np.float32(0)
    for k in range(p):
        total += b[i + n * k] * c[k + p * j]
    a[i + n * j] = total


@cuda.jit
def sgemm_tiled(a, b, c, n, m, p):
    # The simulator distinguishes shared arrays by their source line, so each needs a line of its own.
    bs = cuda.shared.array((SIDE, SIDE), numba.float32)
    cs = cuda.shared.array((SIDE, SIDE), numba.float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    i = cuda.blockIdx.x * SIDE + tx
    j = cuda.blockIdx.y * SIDE + ty
    total = np.float32(0)
    for k0 in range(0, p, SIDE):
        bs[ty, tx] = b[i + n * (k0 + ty)]
        cs[ty, tx] = c[(k0 + tx) + p * j]
        cuda.syncthreads()
        for k in range(SIDE):
            total += bs[k, tx] * cs[ty, k]
        cuda.syncthreads()
    a[i + n * j] = total


@cuda.jit
def sgemm_register(a, b, c, n, m, p):
    bs = cuda.shared.array((SIDE, SIDE * POINTS), numba.float32)
    cs = cuda.shared.array((SIDE, SIDE * POINTS), numba.float32)
    total = cuda.local.array((POINTS, POINTS), numba.float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    i0 = cuda.blockIdx.x * SIDE * POINTS
    j0 = cuda.blockIdx.y * SIDE * POINTS
    for v in range(POINTS):
        for u in range(POINTS):
            total[v, u] = np.float32(0)
    for k0 in range(0, p, SIDE):
        for u in range(POINTS):
            bs[ty, tx + SIDE * u] = b[(i0 + tx + SIDE * u) + n * (k0 + ty)]
            cs[tx, ty + SIDE * u] = c[(k0 + tx) + p * (j0 + ty + SIDE * u)]
        cuda.syncthreads()
        for k in range(SIDE):
            for v in range(POINTS):
                for u in range(POINTS):
                    total[v, u] += bs[k, tx + SIDE * u] * cs[k, ty + SIDE * v]
        cuda.syncthreads()
    for v in range(POINTS):
        for u in range(POINTS):
            a[(i0 + tx + SIDE * u) + n * (j0 + ty + SIDE * v)] = total[v, u]


@cuda.jit
def histogram(data, bins, n):
    counts = cuda.shared.array(256, numba.uint32)
    t = cuda.threadIdx.x
    counts[t] = 0
    cuda.syncthreads()
    for i in range(cuda.blockIdx.x * cuda.blockDim.x + t, n, cuda.gridDim.x * cuda.blockDim.x):
        cuda.atomic.add(counts, data[i], 1)
    cuda.syncthreads()
    cuda.atomic.add(bins, t, counts[t])


KERNELS = {k.__name__: k for k in (stencil_naive, sgemm_k1, sgemm_tiled, sgemm_register, histogram)}


class NumbaWorkload:
    """A workload at its small size, uploaded and checked."""

    def __init__(self, name: str) -> None:
        workload = next(w for w in WORKLOADS if w.kernel == name)
        self.launch = workload.small_launch
        self.kernel = KERNELS[name][self.launch.grid, self.launch.block]
        self.arguments: list[Any] = [
            cuda.to_device(a.ravel()) if isinstance(a, np.ndarray) else a for a in self.launch.arguments
        ]
        self.run()
        result = self.arguments[self.launch.output].copy_to_host()
        self.launch.check(result.reshape(self.launch.expected.shape), "Numba's simulator")

    def run(self) -> float:
        start = perf_counter()
        self.kernel(*self.arguments)
        cuda.synchronize()
        return perf_counter() - start


def main() -> None:
    prepared: NumbaWorkload | None = None
    for line in sys.stdin:
        request = json.loads(line)
        seconds = 0.0
        if "prepare" in request:
            prepared = NumbaWorkload(request["prepare"])
        elif "run" in request:
            assert prepared is not None
            seconds = prepared.run()
        print(seconds, flush=True)


if __name__ == "__main__":
    main()
