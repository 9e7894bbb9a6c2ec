"""The fourteen puzzles of lab 3: small kernels, each with a counted par.

Most counts are per 32 elements, the share of one warp if each thread computes one element. They are the same
for every size, and on every machine.
"""

import numpy as np

from gpulab.problems import Input, Output, Problem, Requirement, Scalar, Size, Step

SEGMENT = 256  # elements that are added, or summed up, together
BINS = 64
H200_SMS, SM_BLOCKS, SM_WARPS = 132, 32, 64  # of an NVIDIA H200, and what one of its SMs holds at most


def sectors(load, store):
    """Return the par of loads and stores of global memory, in sectors of 32 bytes."""
    return (
        Requirement("sectors_loaded", "sectors loaded per 32 elements", at_most=load),
        Requirement("sectors_stored", "sectors stored per 32 elements", at_most=store),
    )


def requests(load, store):
    """Return the par of requests of warps to global memory."""
    return (
        Requirement("load_requests", "load requests per 32 elements", at_most=load),
        Requirement("store_requests", "store requests per 32 elements", at_most=store),
    )


def barriers(most):
    return Requirement("barriers", "barriers of a block", at_most=most)


def warps_of(n):
    """Return the units of work: groups of 32 elements."""
    return max(n // 32, 1)


SCALED = {
    "the product with a is missing": lambda x: x,
    "a is added instead of multiplied": lambda a, x: a + x,
}
# One rounding of a product, and one of the result.
ROUNDED = {
    "reference": lambda a, x: a * x,
    "error_bound": lambda a, x: 2.0**-23 * abs(a * x),
    "flops": lambda n: n,
}


def once(elements=32):
    """Return the requirement that no element is computed by several threads. elements: of a unit of work."""
    return Requirement(
        "global_loads",
        f"elements loaded per {elements} element{'s' * (elements > 1)}",
        at_most=1.1 * elements,
        baseline_value=elements,
        baseline="a kernel that computes each element once",
        advice="Several threads compute the same element.",
    )


def by_all_lanes(load, store, stores=1):
    """Return the requirements that no single thread of a warp does the work of the others.

    load, store: requests of warps per 32 elements, at most. stores: that an element needs.
    """
    serial = {"baseline": "a loop of one thread", "advice": "Let each thread compute elements of its own."}
    return (
        Requirement(
            "load_requests", "load requests per 32 elements", at_most=load, baseline_value=32, **serial
        ),
        Requirement(
            "store_requests",
            "store requests per 32 elements",
            at_most=store,
            baseline_value=32 * stores,
            **serial,
        ),
    )


FEW_ATOMICS = Requirement(
    "global_atomics",
    "atomic operations on global memory per 32 elements",
    at_most=4,
    baseline_value=32,
    baseline="an atomic operation for each element",
    advice="Add the elements of a warp first.",
)

map_ = Problem(
    "map",
    arguments=(Output("y", ("n",)), Input("x", ("n",)), Scalar("a", (1.5, 3.0)), "n"),
    sizes={"n": 1 << 18},
    work=warps_of,
    mistakes=SCALED,
    **ROUNDED,
    steps=(
        Step(
            "whole",
            "one element for each thread",
            whole_blocks=True,
            requirements=(once(), *by_all_lanes(4, 4)),
            par=(*sectors(4, 4), *requests(1, 1)),
        ),
        Step(
            "guarded",
            "threads past the end do nothing",
            requirements=(once(), *by_all_lanes(4, 4)),
            par=(*sectors(4, 4), *requests(1, 1)),
        ),
    ),
)

outer = Problem(
    "outer",
    arguments=(Output("table", ("ny", "nx")), Input("row", ("nx",)), Input("column", ("ny",)), "nx", "ny"),
    sizes={"nx": 512, "ny": 512},
    reference=lambda row, column: np.outer(column, row),
    error_bound=lambda row, column: 2.0**-23 * abs(np.outer(column, row)),
    flops=lambda nx, ny: nx * ny,
    work=lambda nx, ny: warps_of(nx * ny),
    mistakes={
        "the table is stored by columns: the index is `x * ny + y`, not `y * nx + x`": lambda row, column: (
            np.outer(row, column).reshape(column.size, row.size)
        ),
        "each element is the sum of row and column, not their product": lambda row, column: (
            column[:, None] + row
        ),
    },
    steps=(
        Step(
            "plane",
            "a thread for each element of a table",
            block=(32, 8, 1),
            requirements=(
                Requirement(
                    "sectors_stored",
                    "sectors stored per 32 elements",
                    at_most=6,
                    advice="Neighbouring threads in x should write neighbouring elements of a row: with x "
                    "and y exchanged, they write up to 32 sectors.",
                ),
            ),
            par=sectors(5, 4),
        ),
    ),
)

stride = Problem(
    "stride",
    arguments=(Output("y", ("n",)), Input("x", ("n",)), Scalar("a", (1.5, 3.0)), "n"),
    sizes={"n": 1 << 18},
    tile=(4, 1, 1),
    mistakes=SCALED,
    **ROUNDED,
    steps=(
        Step("strided", "each thread computes four neighbouring elements"),
        Step(
            "unit",
            "neighbouring threads compute neighbouring elements",
            requirements=(
                Requirement("outputs_per_thread", at_least=4, baseline_value=4, advice="Keep `--tile 4`."),
                once(1),
                Requirement("sectors_per_request", at_most=6, baseline_value=16),
                Requirement("sectors_per_store", at_most=6, baseline_value=16),
            ),
            par=(Requirement("sectors_per_request", at_most=4), Requirement("sectors_per_store", at_most=4)),
        ),
    ),
)

particles = Problem(
    "particles",
    arguments=(Output("fields", (4, "n")), Input("particles", ("n", 4)), "n"),
    index=("k", "i"),
    sizes={"n": 1 << 18},
    extents=("n",),
    reference=lambda particles: particles.T,
    work=warps_of,
    mistakes={
        "the output has the order of the input": lambda particles: particles.reshape(4, -1),
        "every field is the first one": lambda particles: np.tile(particles[:, 0], (4, 1)),
    },
    steps=(
        Step(
            "soa",
            "from an array of structures to a structure of arrays",
            requirements=(
                Requirement(
                    "sectors_loaded",
                    "sectors loaded per 32 particles",
                    at_most=32,
                    baseline_value=64,
                    baseline="a kernel with four loads",
                    advice="Load the four floats of a particle with one float4.",
                ),
                *by_all_lanes(8, 16, stores=4),
            ),
            par=(
                Requirement("sectors_loaded", "sectors loaded per 32 particles", at_most=16),
                Requirement("sectors_stored", "sectors stored per 32 particles", at_most=16),
            ),
        ),
    ),
)

WITHOUT_TILE = {"at_most": 8, "baseline_value": 32, "baseline": "a kernel without a tile"}
COALESCED = (
    Requirement("sectors_loaded", "sectors loaded per 32 elements", **WITHOUT_TILE),
    Requirement("sectors_stored", "sectors stored per 32 elements", **WITHOUT_TILE),
)

transpose = Problem(
    "transpose",
    arguments=(Output("b", ("nx", "ny")), Input("a", ("ny", "nx")), "nx", "ny"),
    sizes={"nx": Size(512, smallest=32, multiple=32), "ny": Size(512, smallest=32, multiple=32)},
    extents=("nx", "ny"),
    reference=lambda a: a.T,
    work=lambda nx, ny: warps_of(nx * ny),
    block=(32, 32, 1),
    mistakes={
        "the output is a copy of the input": lambda a: a.reshape(a.shape[::-1]),
        "each tile is transposed, but is written to its old place": lambda a: np.block(
            [
                [a[y : y + 32, x : x + 32].T for x in range(0, a.shape[1], 32)]
                for y in range(0, a.shape[0], 32)
            ]
        ).reshape(a.shape[::-1]),
        "each tile is at its new place, but is not transposed itself": lambda a: np.block(
            [[a[y : y + 32, x : x + 32] for y in range(0, a.shape[0], 32)] for x in range(0, a.shape[1], 32)]
        ),
    },
    steps=(
        Step(
            "tiled",
            "a tile in shared memory, so that loads and stores are coalesced",
            whole_blocks=True,
            requirements=COALESCED,
            par=(*sectors(4, 4), barriers(1)),
        ),
        Step(
            "padded",
            "no bank conflicts",
            whole_blocks=True,
            requirements=(
                *COALESCED,
                Requirement(
                    "shared_passes",
                    "passes over the banks of shared memory per 32 elements",
                    at_most=8,
                    baseline_value=33,
                    advice="The lanes of a warp read different words of one bank: how long must a row be?",
                ),
            ),
            par=(
                *sectors(4, 4),
                Requirement("passes_per_shared_access", at_most=1),
                Requirement("shared_bytes", at_most=4224),
            ),
        ),
    ),
)

NO_SHARED = Requirement(
    "shared_bytes",
    at_most=0,
    baseline_value=1024,
    baseline="a sum in shared memory",
    advice="The lanes of a warp can exchange values without it.",
)

warpsum = Problem(
    "warpsum",
    arguments=(Output("sums", lambda n: (n // 32,), dtype="int32"), Input("x", ("n",), dtype="int32"), "n"),
    sizes={"n": Size(1 << 18, smallest=32, multiple=32)},
    extents=("n",),
    reference=lambda x: x.reshape(-1, 32).sum(1),
    work=warps_of,
    mistakes={
        "only one half of each warp is added": lambda x: x.reshape(-1, 32)[:, :16].sum(1),
        "each sum is the first element of its warp": lambda x: x[::32],
        "each sum is the last element of its warp: add the shuffled value with `+=`": lambda x: x[31::32],
        "the neighbour at distance 1 is missing": lambda x: x.reshape(-1, 32)[:, ::2].sum(1),
        "only one step is taken, at distance 16": lambda x: _shuffled(x, (16,)),
        "the distance grows by 1 in each step: halve it": lambda x: _shuffled(x, range(1, 32)),
        "lane 31 writes, and lane 0 has the sum": lambda x: 32 * x[31::32],
    },
    steps=(
        Step(
            "shuffle",
            "a sum over a warp without shared memory",
            requirements=(
                NO_SHARED,
                Requirement(
                    "load_requests",
                    "load requests per 32 elements",
                    at_most=2,
                    baseline_value=32,
                    baseline="a sum by one lane",
                ),
                FEW_ATOMICS,
            ),
            par=(
                Requirement("lane_exchanges", at_most=5),
                barriers(0),  # __syncthreads_count() exchanges values, too
                Requirement("sectors_loaded", "sectors loaded per 32 elements", at_most=4),
            ),
        ),
    ),
)


def _shuffled(x, distances):
    """Return the sums of lane 0 if each lane adds the sum of the lane at each distance above it."""
    sums = x.reshape(-1, 32).copy()
    for distance in distances:
        above = sums.copy()  # a lane without a lane above it at the distance gets its own value
        above[:, :-distance] = sums[:, distance:]
        sums += above
    return sums[:, 0]


SEGMENTS = {"n": Size(1 << 18, smallest=SEGMENT, multiple=SEGMENT)}

blocksum = Problem(
    "blocksum",
    arguments=(
        Output("sums", lambda n: (n // SEGMENT,), dtype="int32"),
        Input("x", ("n",), dtype="int32"),
        "n",
    ),
    sizes=SEGMENTS,
    extents=("n",),
    reference=lambda x: x.reshape(-1, SEGMENT).sum(1),
    work=warps_of,
    block=(SEGMENT, 1, 1),
    mistakes={
        "only the first warp of each block is added": lambda x: x.reshape(-1, SEGMENT)[:, :32].sum(1),
        "only one half of each block is added": lambda x: x.reshape(-1, SEGMENT)[:, : SEGMENT // 2].sum(1),
        "the sum of the first warp is added twice": lambda x: (
            x.reshape(-1, SEGMENT).sum(1) + x.reshape(-1, SEGMENT)[:, :32].sum(1)
        ),
        "only one half of each warp is added": lambda x: (
            x.reshape(-1, 2, 16)[:, 0].reshape(-1, SEGMENT // 2).sum(1)
        ),
        "each sum is the first element of its block": lambda x: x[::SEGMENT],
        "the last warp of each block is missing": lambda x: x.reshape(-1, SEGMENT)[:, :-32].sum(1),
    },
    steps=(
        Step(
            "reduced",
            "a sum over a block of 256 threads",
            whole_blocks=True,
            requirements=(
                Requirement(
                    "load_requests",
                    "load requests per 32 elements",
                    at_most=2,
                    baseline_value=32,
                    baseline="a sum by one thread",
                    advice="Each thread loads one element.",
                ),
                Requirement(
                    "barriers",
                    "barriers of a block",
                    at_most=9,
                    baseline_value=256,
                    baseline="a sum of one element after the other",
                ),
                Requirement(
                    "shared_passes",
                    "passes over the banks of shared memory per 32 elements",
                    at_most=20,
                    baseline_value=33,
                    baseline="a sum by one thread",
                    advice="Let each warp add its elements.",
                ),
                FEW_ATOMICS,
            ),
            par=(
                Requirement("sectors_loaded", "sectors loaded per 32 elements", at_most=4),
                barriers(1),
                Requirement("shared_bytes", at_most=32),
            ),
        ),
    ),
)

scan = Problem(
    "scan",
    arguments=(Output("y", ("n",), dtype="int32"), Input("x", ("n",), dtype="int32"), "n"),
    sizes=SEGMENTS,
    reference=lambda x: x.reshape(-1, SEGMENT).cumsum(1).ravel(),
    work=warps_of,
    block=(SEGMENT, 1, 1),
    mistakes={
        "the sums leave out the own element": lambda x: x.reshape(-1, SEGMENT).cumsum(1).ravel() - x,
        "the sums begin again at every warp": lambda x: x.reshape(-1, 32).cumsum(1).ravel(),
        "the output is a copy of the input": lambda x: x,
        "only the sum of the warp just before is added": lambda x: _previous_warp(x),
        "the sum of the own warp is added too": lambda x: (
            x.reshape(-1, SEGMENT).cumsum(1).ravel() + np.repeat(x.reshape(-1, 32).sum(1), 32)
        ),
        "the first element of each earlier warp is added, not its sum": lambda x: _first_elements(x),
        "every element is the total of its block": lambda x: np.repeat(
            x.reshape(-1, SEGMENT).sum(1), SEGMENT
        ),
        "lanes below the distance add, too": lambda x: _stepped(x, lambda distance: 0),
        "the lane at the distance itself does not add: use `>=`": lambda x: _stepped(
            x, lambda distance: distance + 1
        ),
        "values come from higher lanes: use `__shfl_up_sync`": lambda x: _stepped(
            x, lambda distance: distance, from_above=True
        ),
        "the sums run from the end": lambda x: x.reshape(-1, SEGMENT)[:, ::-1].cumsum(1)[:, ::-1].ravel(),
    },
    steps=(
        Step(
            "inclusive",
            "prefix sums of each block",
            whole_blocks=True,
            requirements=(
                Requirement(
                    "load_requests",
                    "load requests per 32 elements",
                    at_most=4,
                    baseline_value=128.5,
                    baseline="a kernel whose threads add all elements before their own",
                    advice="Load each element once, and exchange sums between threads.",
                ),
                Requirement(
                    "shared_passes",
                    "passes over the banks of shared memory per 32 elements",
                    at_most=72,
                    baseline_value=145,
                    baseline="a kernel whose threads add all elements before their own",
                    advice="Exchange sums between threads.",
                ),
            ),
            par=(*sectors(4, 4), barriers(1), Requirement("shared_bytes", at_most=32)),
        ),
    ),
)


def _stepped(x, first, from_above=False):
    """Return the sums of a kernel in which the lanes from `first` add, or which add those of higher lanes."""
    sums = x.reshape(-1, 32).copy()
    for distance in (1, 2, 4, 8, 16):
        before = sums.copy()  # a lane without another one at the distance gets its own value
        if from_above:
            before[:, :-distance] = sums[:, distance:]
        else:
            before[:, distance:] = sums[:, :-distance]
        sums[:, first(distance) :] += before[:, first(distance) :]
    sums = sums.reshape(-1, SEGMENT // 32, 32)
    totals = sums[:, :, -1:]
    return (sums + totals.cumsum(1) - totals).ravel()


def _first_elements(x):
    first = x.reshape(-1, SEGMENT // 32, 32)[:, :, :1]
    return (x.reshape(-1, SEGMENT // 32, 32).cumsum(2) + first.cumsum(1) - first).ravel()


def _previous_warp(x):
    sums = x.reshape(-1, SEGMENT // 32, 32).cumsum(2)
    sums[:, 1:] += sums[:, :-1, -1:].copy()
    return sums.ravel()


binning = Problem(
    "binning",
    arguments=(
        Output("counts", ("bins",), dtype="int32", initial=0),
        Input("x", ("n",), dtype="int32", values=(0, BINS)),
        "n",
        "bins",
    ),
    sizes={"n": 1 << 18, "bins": Size.fixed(BINS)},
    extents=("n",),
    reference=lambda x, bins: np.bincount(x, minlength=bins),
    work=lambda n, bins: warps_of(n),
    steps=(
        Step(
            "private",
            "a histogram of each block in shared memory",
            requirements=(
                Requirement(
                    "global_atomics",
                    "atomic operations on global memory per 32 elements",
                    at_most=16,
                    baseline_value=32,
                    baseline="a kernel without a private histogram",
                ),
                Requirement(
                    "global_loads",
                    "elements loaded per 32 elements, with those of atomic operations",
                    at_most=100,
                    baseline_value=2048,
                    baseline="a kernel with a thread for each bin",
                    advice="Load each element once.",
                ),
                by_all_lanes(16, 16)[0],
            ),
            par=(
                Requirement(
                    "global_atomics", "atomic operations on global memory per 32 elements", at_most=8
                ),
                barriers(2),
                # Of local memory, too: a histogram of each thread takes more of them, and no barrier.
                Requirement(
                    "memory_accesses", "loads, stores and atomic operations per 32 elements", at_most=88
                ),
            ),
        ),
    ),
)


def _convolved(x, w):
    return np.convolve(np.pad(x, 2), w[::-1], "valid")


def _without_halo(x, w, left=2, right=2):
    """Return the result of a kernel whose blocks of 256 threads load a part of the halo only."""
    padded = np.pad(x, (2, 2 + -x.size % 256))
    parts = []
    for start in range(0, x.size, 256):
        part = padded[start : start + 260].copy()
        part[: 2 - left] = 0
        part[258 + right :] = 0
        parts.append(np.convolve(part, w[::-1], "valid"))
    return np.concatenate(parts)[: x.size]


convolution = Problem(
    "convolution",
    arguments=(Output("y", ("n",)), Input("x", ("n",)), Input("w", (5,)), "n"),
    sizes={"n": 1 << 18},
    reference=_convolved,
    error_bound=lambda x, w: 2.0**-20 * _convolved(abs(x), abs(w)),
    flops=lambda n: 10 * n,
    work=warps_of,
    mistakes={
        "the left halo of each block is 0": lambda x, w: _without_halo(x, w, left=0),
        "the right halo of each block is 0": lambda x, w: _without_halo(x, w, right=0),
        "the weights are in the opposite order": lambda x, w: _convolved(x, w[::-1]),
        "the last weight is missing": lambda x, w: _convolved(x, w * np.array([1, 1, 1, 1, 0])),
        "the first weight is missing": lambda x, w: _convolved(x, w * np.array([0, 1, 1, 1, 1])),
    },
    steps=(
        Step(
            "halo",
            "a tile with a halo in shared memory",
            requirements=(
                Requirement(
                    "global_loads",
                    "elements of x loaded per 32 elements",
                    array="x",
                    at_most=48,
                    baseline_value=160,
                    baseline="a kernel without a tile",
                ),
                *by_all_lanes(16, 4),
            ),
            par=(
                Requirement("global_loads", "elements of x loaded per 32 elements", array="x", at_most=32.5),
                barriers(1),
            ),
        ),
    ),
)

vector = Problem(
    "vector",
    arguments=(Output("y", ("n",)), Input("x", ("n",)), Scalar("a", (1.5, 3.0)), "n"),
    sizes={"n": 1 << 18},
    tile=(4, 1, 1),
    work=warps_of,
    mistakes={
        **SCALED,
        "the last elements are not multiplied by a": lambda a, x: np.where(
            np.arange(x.size) < x.size // 4 * 4, a * x, x
        ),
    },
    **ROUNDED,
    steps=(
        Step(
            "ragged",
            "four elements with one load, and any n",
            requirements=(
                Requirement(
                    "load_requests",
                    "load requests per 32 elements",
                    at_most=0.5,
                    baseline_value=1,
                    baseline="a kernel without float4",
                ),
                Requirement(
                    "store_requests",
                    "store requests per 32 elements",
                    at_most=0.5,
                    baseline_value=1,
                    baseline="a kernel without float4",
                ),
            ),
            par=(*requests(0.25, 0.25), *sectors(4, 4)),
        ),
    ),
)


class OneWave(Problem):
    """A problem that is counted on as many elements as it is timed on, because waves need a large launch."""

    def counted_shape(self, variant, block, tile):
        unit = block[0] * max(tile[0], 1)
        return (-(-self.timing_size[0] // unit) * unit,)


def resident_blocks(block):
    """Return the blocks that an H200 holds at once, if registers and shared memory do not limit them."""
    warps = -(-block[0] * block[1] * block[2] // 32)
    return H200_SMS * min(SM_BLOCKS, SM_WARPS // warps)


wave = OneWave(
    "wave",
    arguments=(Output("y", ("n",)), Input("x", ("n",)), Scalar("a", (1.5, 3.0)), "n"),
    sizes={"n": 1 << 20},
    work=warps_of,
    mistakes=SCALED,
    **ROUNDED,
    steps=(
        Step(
            "one",
            "all blocks are resident at once",
            requirements=(
                Requirement(
                    "blocks",
                    "blocks of the launch",
                    at_most=lambda block, tile: resident_blocks(block),
                    baseline_value=4096,
                    baseline="a kernel with one element for each thread",
                    advice="An H200 holds 132 * 2048 threads in up to 132 * 32 blocks: take a larger --tile.",
                ),
                Requirement(
                    "blocks",
                    "blocks of the launch",
                    at_least=lambda block, tile: 0.9 * resident_blocks(block),
                    advice="Fewer blocks leave SMs without work. Choose a smaller --tile.",
                ),
                Requirement(
                    "sectors_per_request", at_most=6, baseline_value=16, baseline="a stride of --tile"
                ),
                once(),
                Requirement(
                    "registers",
                    at_most=32,
                    advice="An SM has 32 registers for each of its 2048 threads.",
                ),
            ),
            par=sectors(4, 4),
        ),
    ),
)
