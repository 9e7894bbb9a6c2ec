"""Problems that gpulab does not know, as a teacher declares them, and kernels for them."""

from __future__ import annotations

from pathlib import Path

PROBLEMS = """\
import numpy as np

from gpulab.problems import Input, Output, Problem, Requirement, Scalar, Size, Step, gamma, sum_error

transpose = Problem(
    "transpose",
    arguments=(Output("b", ("columns", "rows")), Input("a", ("rows", "columns")), "rows", "columns"),
    sizes={"rows": 4096, "columns": 4096},
    extents=("columns", "rows"),
    reference=lambda a: a.T,
    mistakes={"the output is a copy of the input": lambda a: a.reshape(a.shape[::-1])},
    steps=(
        Step("naive", "one element for each thread"),
        Step(
            "tiled",
            "a tile in shared memory",
            block=(32, 32, 1),
            requirements=(
                Requirement("sectors_per_store", at_most=6, baseline_value=32),
                Requirement("barriers", at_least=1),
            ),
        ),
        Step(
            "halved",
            "half of the requests",
            baseline="naive",
            block=(32, 32, 1),
            requirements=(Requirement("global_store_sectors", at_most=0.5, relative=True),),
        ),
    ),
)

histogram = Problem(
    "histogram",
    arguments=(
        Output("counts", ("bins",), dtype="uint32", initial=0),
        Input("data", ("n",), dtype="int32", values=(0, 256)),
        "n",
        "bins",
    ),
    sizes={"n": 1 << 24, "bins": Size.fixed(256)},
    extents=("n",),
    reference=lambda data, bins: np.bincount(data, minlength=bins),
    steps=(
        Step("atomic", "an atomic operation for each element"),
        Step(
            "private",
            "a histogram of each block in shared memory",
            requirements=(Requirement("global_atomics", at_most=0.5, baseline_value=1),),
        ),
    ),
)


def convolved(x, w):
    return np.convolve(np.pad(x, 2), w[::-1], "valid")


convolution = Problem(
    "convolution",
    arguments=(Output("y", ("n",)), Input("x", ("n",)), Input("w", ("width",)), Scalar("f", (1.5, 3.0)), "n"),
    sizes={"n": 1 << 24, "width": Size.fixed(5)},
    reference=lambda f, x, w: f * convolved(x, w),
    error_bound=lambda f, x, w: gamma(7) * f * convolved(abs(x), abs(w)),
    flops=lambda n, width: 2 * n * width,
    steps=(Step("naive", "each thread loads its inputs"), Step("shared", "a tile with a halo")),
)

total = Problem(
    "total",
    arguments=(Output("sum", (1,), dtype="int64", initial=0), Input("x", ("n",), dtype="int32"), "n"),
    sizes={"n": 1 << 22},
    reference=lambda x: [x.sum()],
    extents=("n",),
    grid=lambda n, block: min(-(-n // block[0]), 8),
    steps=(Step("strided", "a grid of at most eight blocks"),),
)

dot = Problem(
    "dot",
    arguments=(Output("sum", (1,), initial=0), Input("x", ("n",)), Input("y", ("n",)), "n"),
    sizes={"n": 1 << 24},
    extents=("n",),
    reference=lambda x, y: [x @ y],
    error_bound=lambda x, y: sum_error(x * y),
    flops=lambda n: 2 * n,
    steps=(
        Step("atomic", "an atomic operation for each element"),
        Step(
            "shuffle",
            "a sum of each warp",
            requirements=(Requirement("global_atomics", at_most=1 / 16), Requirement("shuffles", at_least=5)),
        ),
    ),
)

shift = Problem(
    "shift",
    arguments=(Output("after", ("nz", "ny", "nx"), dtype="float64"),
               Input("before", ("nz", "ny", "nx"), dtype="float64"), "nx", "ny", "nz"),
    sizes={"nx": Size(256, smallest=3), "ny": 256, "nz": 64},
    reference=lambda before: np.roll(before, -1, axis=2),
    written=lambda nx, ny, nz: (slice(0, nz), slice(0, ny), slice(0, nx - 1)),
    steps=(Step("naive", "three axes"),),
)
"""

TRANSPOSE = """\
%%cuda transpose.naive --block 32 8
__global__ void transpose(float* b, const float* a, int rows, int columns)
{
    int x = blockIdx.x * BLOCK_X + threadIdx.x, y = blockIdx.y * BLOCK_Y + threadIdx.y;
    if (x < columns && y < rows) b[x * rows + y] = a[y * columns + x];
}"""
TILED = """\
%%cuda transpose.tiled --block 32 32
__global__ void transpose(float* b, const float* a, int rows, int columns)
{
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    if (x < columns && y < rows) tile[threadIdx.y][threadIdx.x] = a[y * columns + x];
    __syncthreads();
    x = blockIdx.x * 32 + threadIdx.y, y = blockIdx.y * 32 + threadIdx.x;
    if (x < columns && y < rows) b[x * rows + y] = tile[threadIdx.x][threadIdx.y];
}"""
HISTOGRAM = """\
%%cuda histogram.atomic
__global__ void histogram(unsigned* counts, const int* data, int n, int bins)
{
    int i = blockIdx.x * BLOCK_X + threadIdx.x;
    if (i < n) atomicAdd(counts + data[i], 1u);
}"""
CONVOLUTION = """\
%%cuda convolution.naive
__global__ void convolution(float* y, const float* x, const float* w, float f, int n)
{
    int i = blockIdx.x * BLOCK_X + threadIdx.x;
    if (i >= n) return;
    float sum = 0;
    for (int k = 0; k < 5; ++k)
        if (i + k - 2 >= 0 && i + k - 2 < n) sum += w[k] * x[i + k - 2];
    y[i] = f * sum;
}"""
TOTAL = """\
%%cuda total.strided
__global__ void total(long long* sum, const int* x, int n)
{
    long long own = 0;
    for (int i = blockIdx.x * BLOCK_X + threadIdx.x; i < n; i += gridDim.x * BLOCK_X) own += x[i];
    atomicAdd((unsigned long long*) sum, (unsigned long long) own);
}"""
DOT = """\
%%cuda dot.shuffle
__global__ void dot(float* sum, const float* x, const float* y, int n)
{
    int i = blockIdx.x * BLOCK_X + threadIdx.x;
    float own = i < n ? x[i] * y[i] : 0;
    for (int d = 16; d; d /= 2) own += __shfl_down_sync(~0u, own, d);
    if (threadIdx.x % 32 == 0) atomicAdd(sum, own);
}"""
SHIFT = """\
%%cuda shift.naive --block 32 4 2
__global__ void shift(double* after, const double* before, int nx, int ny, int nz)
{
    int x = blockIdx.x * BLOCK_X + threadIdx.x, y = blockIdx.y * BLOCK_Y + threadIdx.y;
    int z = blockIdx.z * BLOCK_Z + threadIdx.z;
    int i = x + nx * (y + ny * z);
    if (x < nx - 1 && y < ny && z < nz) after[i] = before[i + 1];
}"""


def write_problems(folder: Path, text: str = PROBLEMS) -> Path:
    """Write a `problem.py` and return its path."""
    path = folder / "problem.py"
    path.write_text(text, encoding="utf-8")
    return path
