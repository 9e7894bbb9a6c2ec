"""Launches of the kernels of rodinia on grids, graphs, matrices and sequences."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.compatibility.launches import (
    Array,
    Expected,
    Launch,
    Packed,
    Part,
    blocks,
    integers,
    masked,
    new,
    normal,
    refused,
    suite,
    uniform,
)

__all__: list[str] = []

declare = suite("rodinia", "cuda/")
MAX = 2**31 - 1


# Trees and graphs ------------------------------------------------------------------------------


def _tree() -> tuple[Array, Array]:
    """Return the keys of 20 leaves with 200 each, and the nodes: a root in front of the leaves."""
    order, leaves, size = 256, 20, 200
    node = [("location", "i4"), ("indices", "i4", order + 1), ("keys", "i4", order + 1), ("rest", "i4", 2)]
    nodes = np.zeros(leaves + 1, node)
    keys = np.cumsum(integers(leaves * size, low=1, high=9)).astype(np.int32).reshape(leaves, size)
    nodes["keys"] = MAX
    nodes["keys"][0, :leaves], nodes["indices"][0, :leaves] = keys[:, 0], 1 + np.arange(leaves)
    nodes["keys"][1:, :size], nodes["indices"][1:, :size] = keys, np.arange(keys.size).reshape(keys.shape)
    return keys.ravel(), nodes


@declare("b+tree/kernel/kernel_gpu_cuda.cu", "findK")
def find_keys(scale: int) -> Launch:
    queries = 30 * scale
    keys, nodes = _tree()
    records = integers(keys.size)
    wanted = integers(queries, high=keys.size, seed=1)
    zeros = [np.zeros(queries, np.int64) for _ in range(2)]
    args = [1, nodes.view(np.uint8), nodes.size, records, *zeros, keys[wanted], new(queries, dtype=np.int32)]
    return Launch(queries, 256, args, {4: None, 5: None, 7: records[wanted]})


@declare("b+tree/kernel/kernel_gpu_cuda_2.cu", "findRangeK")
def find_ranges(scale: int) -> Launch:
    queries = 30 * scale
    keys, nodes = _tree()
    first = integers(queries, high=keys.size - 500, seed=1)
    last = first + integers(queries, high=500, seed=2)
    zeros = [np.zeros(queries, np.int64) for _ in range(4)]
    outputs = [new(queries, dtype=np.int32) for _ in range(2)]
    args = [1, nodes.view(np.uint8), nodes.size, *zeros, keys[first], keys[last], *outputs]
    expected = {**dict.fromkeys(range(3, 7)), 9: first, 10: last - first + 1}
    return Launch(queries, 256, args, expected)


def _graph(vertices: int, neighbours: int = 4) -> tuple[Array, Array]:
    """Return the first edge and the number of edges of each vertex, and the ends of the edges."""
    count = integers(vertices, high=2 * neighbours + 1)
    first = np.cumsum(count) - count
    return np.stack([first, count], 1).astype(np.int32), integers(count.sum(), high=vertices, seed=1)


@declare("bfs/kernel.cu", "Kernel")
def frontier(scale: int) -> Launch:
    n = 2000 * scale
    nodes, edges = _graph(n)
    frontier, visited = integers(n, seed=2) < 5, integers(n, seed=3) < 30
    visited |= frontier
    cost, updating = np.where(visited, 2, -1).astype(np.int32), np.zeros(n, bool)
    ends = np.concatenate([edges[first : first + count] for first, count in nodes[frontier]])
    reached = np.isin(np.arange(n), ends) & ~visited
    args = [nodes, edges, frontier, updating, visited, cost, n]
    expected = {2: np.zeros(n, bool), 3: reached, 5: np.where(reached, 3, cost)}
    return Launch(blocks(n, 512), 512, args, expected)


@declare("bfs/kernel2.cu", "Kernel2")
def next_frontier(scale: int) -> Launch:
    n = 2000 * scale
    mask, updating, visited = integers(n) < 2, integers(n, seed=1) < 20, integers(n, seed=2) < 30
    args = [mask, updating, visited, np.zeros(1, bool), n]
    expected = {0: mask | updating, 1: np.zeros(n, bool), 2: visited | updating, 3: np.ones(1, bool)}
    return Launch(blocks(n, 512), 512, args, expected)


# Neural networks and clusters ------------------------------------------------------------------


@declare("backprop/backprop_cuda_kernel.cu", "bpnn_layerforward_CUDA")
def forward(scale: int) -> Launch:
    inputs, hidden = 64 * scale, 16
    x, weights = normal(inputs + 1), normal(inputs + 1, hidden + 1)
    sums = (weights[1:, 1:] * x[1:, None]).reshape(-1, 16, 16)
    for step in (2, 4, 8, 16):
        sums[:, ::step] += sums[:, step // 2 :: step]
    changed = weights.copy()
    changed[1:, 1:] = sums.reshape(inputs, 16)
    args = [x, np.zeros(17, np.float32), weights, new(inputs // 16, 16), inputs, hidden]
    return Launch((1, inputs // 16), (16, 16), args, {2: changed, 3: sums[:, 0]})


@declare("backprop/backprop_cuda_kernel.cu", "bpnn_adjust_weights_cuda")
def adjust(scale: int) -> Launch:
    inputs, hidden = 64 * scale, 16
    delta, x = normal(hidden + 1), normal(inputs + 1, seed=1)
    weights, old = normal(inputs + 1, hidden + 1, seed=2), normal(inputs + 1, hidden + 1, seed=3)
    x[0] = 1  # the bias
    change = 0.3 * np.outer(x, delta) + 0.3 * old.astype(np.float64)
    change[:, 0] = 0
    kept = old.copy()
    kept[:, 1:] = change[:, 1:]
    args = [delta, hidden, x, inputs, weights, old]
    return Launch((1, inputs // 16), (16, 16), args, {4: weights + change, 5: kept})


@declare("kmeans/kmeans_cuda_kernel.cu", "invert_mapping")
def transposed(scale: int) -> Launch:
    points = normal(700 * scale, 9)
    return Launch(blocks(len(points), 256), 256, [points, new(9, len(points)), len(points), 9], {1: points.T})


@declare("streamcluster/streamcluster_cuda.cu", "kernel_compute_cost")
def center_cost(scale: int) -> Launch:
    n, dimensions, centers, x = 600 * scale, 8, 5, 17
    points = np.zeros(
        n, [("weight", "f4"), ("_", "i4"), ("coord", "i8"), ("assign", "i8"), ("cost", "f4"), ("", "i4")]
    )
    points["weight"], points["cost"] = uniform(n, low=1, high=2), uniform(n, low=5, high=40)
    center = integers(centers, high=n)
    points["assign"] = center[integers(n, high=centers, seed=1)]
    table = np.zeros(n, np.int32)
    table[center] = np.arange(centers)
    coordinates, work = normal(dimensions, n), normal(n, centers + 1)
    cost = ((coordinates - coordinates[:, x : x + 1]) ** 2).sum(0) * points["weight"]
    switched = cost < points["cost"]
    column = np.where(switched, centers, table[points["assign"]])
    expected = work.copy()
    expected[np.arange(n), column] += np.where(switched, cost - points["cost"], points["cost"] - cost)
    args = [n, dimensions, x, points.view(np.uint8), centers, centers + 1, coordinates, work, table]
    return Launch(blocks(n, 256), 256, [*args, np.zeros(n, bool)], {7: expected, 9: switched})


@declare("nn/nn_cuda.cu", "euclid")
def distances(scale: int) -> Launch:
    places = uniform(1000 * scale, 2, low=-90, high=90)
    expected = np.hypot(30 - places[:, 0].astype(np.float64), 60 - places[:, 1].astype(np.float64))
    args = [places, new(len(places)), len(places), 30.0, 60.0]
    return Launch((2, blocks(len(places), 512)), 256, args, {1: expected})


# Matrices --------------------------------------------------------------------------------------


@declare("gaussian/gaussian.cu", "Fan1")
def multipliers(scale: int) -> Launch:
    n, t = 100 * scale, 5
    a, m = normal(n, n), normal(n, n, seed=1)
    expected = m.copy()
    expected[t + 1 :, t] = a[t + 1 :, t] / a[t, t]
    return Launch(blocks(n, 128), 128, [m, a, n, t], {0: expected})


@declare("gaussian/gaussian.cu", "Fan2")
def eliminate(scale: int) -> Launch:
    n, t = 100 * scale, 5
    a, m, b = normal(n, n), normal(n, n, seed=1), normal(n, seed=2)
    after, right = a.copy(), b.copy()
    after[t + 1 :, t:] -= m[t + 1 :, t : t + 1] * a[t, t:]
    right[t + 1 :] -= m[t + 1 :, t] * b[t]
    return Launch((blocks(n, 16), blocks(n, 16)), (16, 16), [m, a, b, n, n - t, t], {1: after, 2: right})


def _lu(matrix: Array) -> Array:
    """Return L below the diagonal, whose diagonal is 1, and R."""
    a = matrix.astype(np.float64)
    for k in range(len(a) - 1):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return a


@declare("lud/cuda/lud_kernel.cu", "lud_diagonal", "lud_perimeter", "lud_internal")
def lu_decomposition(scale: int, kernel: str) -> Launch:
    n, size, at = 64 * scale, 16, 16
    a = normal(n, n) + 8 * np.eye(n, dtype=np.float32)
    block, behind = slice(at, at + size), slice(at + size, n)
    expected = a.astype(np.float64)
    others = (n - at) // size - 1
    if kernel == "lud_internal":
        expected[behind, behind] -= expected[behind, block] @ expected[block, behind]
        return Launch((others, others), (size, size), [a, n, at], {0: expected})
    if kernel == "lud_diagonal":
        expected[block, block] = _lu(a[block, block])
        return Launch(1, size, [a, n, at], {0: expected})
    lower, upper = np.tril(expected[block, block], -1) + np.eye(size), np.triu(expected[block, block])
    expected[block, behind] = np.linalg.solve(lower, expected[block, behind])
    expected[behind, block] = np.linalg.solve(upper.T, expected[behind, block].T).T
    return Launch(others, 2 * size, [a, n, at], {0: expected}, rtol=1e-4)


# Grids -----------------------------------------------------------------------------------------


def _neighbours(x: Array) -> tuple[Array, Array, Array, Array]:
    """Return the elements above, below, left and right; those of the border are their own neighbours."""
    p = np.pad(x, 1, "edge")
    return p[:-2, 1:-1], p[2:, 1:-1], p[1:-1, :-2], p[1:-1, 2:]


@declare("hotspot/hotspot.cu", "calculate_temp")
def temperature(scale: int) -> Launch:
    rows, columns, steps = 50 * scale, 70 * scale, 2
    power, before = uniform(rows, columns), uniform(rows, columns, low=70, high=90, seed=1)
    cap, rx, ry, rz, step = 0.5, 1.5, 1.2, 80.0, 0.05
    t = before.astype(np.float64)
    for _ in range(steps):
        north, south, west, east = _neighbours(t)
        flow = (south + north - 2 * t) / ry + (east + west - 2 * t) / rx + (80 - t) / rz
        t = t + step / cap * (power + flow)
    args = [steps, power, before, new(rows, columns), columns, rows, steps, steps, cap, rx, ry, rz, step, 0.0]
    grid = blocks(columns, 16 - 2 * steps), blocks(rows, 16 - 2 * steps)
    return Launch(grid, (16, 16), args, {3: t})


@declare("hotspot3D/opt1.cu", "hotspotOpt1")
def temperature_3d(scale: int) -> Launch:
    nz, ny, nx = 6, 8 * scale, 64 * scale
    power, before = uniform(nz, ny, nx), uniform(nz, ny, nx, low=70, high=90, seed=1)
    ce, cw, cn, cs, ct, cb, cc, sdc = 0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.6, 0.1
    p = np.pad(before.astype(np.float64), 1, "edge")
    x = p[1:-1, 1:-1]
    expected = cc * x[:, :, 1:-1] + cw * x[:, :, :-2] + ce * x[:, :, 2:] + sdc * power + ct * 80
    expected += (
        cs * p[1:-1, 2:, 1:-1] + cn * p[1:-1, :-2, 1:-1] + cb * p[:-2, 1:-1, 1:-1] + ct * p[2:, 1:-1, 1:-1]
    )
    args = [power, before, new(nz, ny, nx), sdc, nx, ny, nz, ce, cw, cn, cs, ct, cb, cc]
    return Launch((nx // 64, ny // 4), (64, 4), args, {2: expected})


@declare("pathfinder/pathfinder.cu", "dynproc_kernel")
def shortest_path(scale: int) -> Launch:
    columns, steps, start = 600 * scale, 3, 2
    wall, source = integers(10, columns, high=10), integers(columns, seed=1)
    path = source
    for step in range(steps):
        p = np.pad(path, 1, "edge")
        path = np.minimum(np.minimum(p[:-2], p[2:]), path) + wall[start + step]
    args = [steps, wall, source, new(columns, dtype=np.int32), columns, 10, start, steps]
    return Launch(blocks(columns, 256 - 2 * steps), 256, args, {3: path})


@declare("nw/needle_kernel.cu", "needle_cuda_shared_1", "needle_cuda_shared_2")
def alignment(scale: int, kernel: str) -> Launch:
    """The blocks of an anti-diagonal: the second in front of the middle, or the last but one."""
    width, size, penalty = 4 * scale, 16, 10
    n = width * size + 1
    reference = integers(n, n, low=-10, high=10)
    score = np.zeros((n, n), np.int32)
    score[0] = score[:, 0] = -penalty * np.arange(n)
    for i in range(1, n):
        diagonal = score[i - 1, :-1] + reference[i, 1:]
        best = np.maximum(diagonal, score[i - 1, 1:] - penalty)
        for j in range(1, n):
            score[i, j] = max(best[j - 1], score[i, j - 1] - penalty)
    before = score.copy()
    for n_block in range(2):
        y, x = (
            (1 - n_block, n_block)
            if kernel == "needle_cuda_shared_1"
            else (width - 1 - n_block, width - 2 + n_block)
        )
        before[y * size + 1 : (y + 1) * size + 1, x * size + 1 : (x + 1) * size + 1] = 0
    return Launch(2, size, [reference, before, n, penalty, 2, width], {1: score})


# Speckles --------------------------------------------------------------------------------------

IMAGE_KERNELS = {"extract": lambda x: np.exp(x / 255), "compress": lambda x: np.log(x) * 255}


@declare("srad/srad_v1/extract_kernel.cu", "extract")
@declare("srad/srad_v1/compress_kernel.cu", "compress")
def image(scale: int, kernel: str) -> Launch:
    x = uniform(2000 * scale, low=1, high=255)
    return Launch(blocks(x.size, 512), 512, [x.size, x], {1: IMAGE_KERNELS[kernel](x.astype(np.float64))})


@declare("srad/srad_v1/prepare_kernel.cu", "prepare")
def squares(scale: int) -> Launch:
    x = uniform(2000 * scale)
    return Launch(blocks(x.size, 512), 512, [x.size, x, new(x.size), new(x.size)], {2: x, 3: x * x})


@declare("srad/srad_v1/reduce_kernel.cu", "reduce")
def sums_of_blocks(scale: int) -> Launch:
    n = 512 * 3 * scale + 100
    x, y = uniform(n), uniform(n, seed=1)
    expected: dict[int, Expected] = {}
    for index, values in ((3, x), (4, y)):
        after = values.astype(np.float64)
        after[::512] = np.add.reduceat(after, np.arange(0, n, 512))
        expected[index] = after
    return Launch(blocks(n, 512), 512, [n, n, 1, x, y], expected)


def _diffusion(x: Array, q0: float) -> tuple[list[Array], Array]:
    """Return the differences to the neighbours, and the diffusion coefficients."""
    x = x.astype(np.float64)
    differences = [each - x for each in _neighbours(x)]
    g = sum(each**2 for each in differences) / x**2
    laplace = sum(differences) / x
    q = (0.5 * g - laplace**2 / 16) / (1 + 0.25 * laplace) ** 2
    return differences, (1 / (1 + (q - q0) / (q0 * (1 + q0)))).clip(0, 1)


def _indices(n: int) -> tuple[Array, Array]:
    at = np.arange(n, dtype=np.int32)
    return np.maximum(at - 1, 0), np.minimum(at + 1, n - 1)


@declare("srad/srad_v1/srad_kernel.cu", "srad")
def diffusion(scale: int) -> Launch:
    rows, columns = 40 * scale, 60 * scale
    x = uniform(columns, rows, low=1, high=2)  # by columns
    (west, east, north, south), c = _diffusion(x, 0.1)
    outputs = [new(columns, rows) for _ in range(5)]
    (above, below), (left, right) = _indices(rows), _indices(columns)
    args = [0.5, rows, columns, x.size, above, below, right, left, *outputs[:4], 0.1, outputs[4], x]
    return Launch(blocks(x.size, 512), 512, args, {8: north, 9: south, 10: east, 11: west, 13: c}, rtol=1e-4)


@declare("srad/srad_v1/srad2_kernel.cu", "srad2")
def update(scale: int) -> Launch:
    rows, columns = 40 * scale, 60 * scale
    north, south, east, west, c, x = (normal(columns, rows, seed=seed) for seed in range(6))
    _, _, _, eastern = _neighbours(c.T.astype(np.float64))
    _, southern, _, _ = _neighbours(c.T.astype(np.float64))
    change = c * north + southern.T * south + c * west + eastern.T * east
    (above, below), (left, right) = _indices(rows), _indices(columns)
    args = [0.5, rows, columns, x.size, above, below, right, left, north, south, east, west, c, x]
    return Launch(blocks(x.size, 512), 512, args, {13: x + 0.125 * change})


def _with_rows_around(x: Array) -> Part:
    """Return the image in an array with a row before and after: the kernels read, and do not use, these."""
    return Part(np.pad(x, ((1, 1), (0, 0)), constant_values=1).ravel(), x.shape[1])


@declare("srad/srad_v2/srad_kernel.cu", "srad_cuda_1")
def tiled_diffusion(scale: int) -> Launch:
    rows, columns = 48 * scale, 64 * scale
    x = uniform(rows, columns, low=1, high=2)
    (north, south, west, east), c = _diffusion(x, 0.1)
    outputs = [new(rows, columns) for _ in range(4)]
    args = [*outputs, _with_rows_around(x), new(rows, columns), columns, rows, 0.1]
    expected = {0: east, 1: west, 2: north, 3: south, 5: c}
    return Launch((columns // 16, rows // 16), (16, 16), args, expected, rtol=1e-4)


@declare("srad/srad_v2/srad_kernel.cu", "srad_cuda_2")
def tiled_update(scale: int) -> Launch:
    rows, columns = 48 * scale, 64 * scale
    east, west, north, south, x, c = (normal(rows, columns, seed=seed) for seed in range(6))
    _, southern, _, eastern = _neighbours(c.astype(np.float64))
    change = c * north + southern * south + c * west + eastern * east
    args = [east, west, north, south, x, _with_rows_around(c), columns, rows, 0.5, 0.1]
    return Launch((columns // 16, rows // 16), (16, 16), args, {4: x + 0.125 * change})


# Compression -----------------------------------------------------------------------------------


@declare("huffman/hist.cu", "histo_kernel")
def histogram(scale: int) -> Launch:
    data, before = integers(5000 * scale, high=256, dtype=np.uint8), integers(256, dtype=np.uint32)
    expected = before + np.bincount(data, minlength=256).astype(np.uint32)
    return Launch(6, 256, [data, data.size, before], {2: expected})


@declare("huffman/scanLargeArray_kernel.cu", "prescan")
def scan(scale: int) -> list[Launch]:
    launches = []
    for stores_sum, short in ((1, 0), (1, 1), (0, 0), (0, 1)):
        threads, grid = 128, 1 if short else 4 * scale
        n = 200 if short else 256 * grid
        x = integers(n, dtype=np.uint32)
        rows = x.reshape(grid, -1)
        sums = new(grid, dtype=np.uint32) if stores_sum else None
        args = [new(n, dtype=np.uint32), x, sums, n if short else 256, 0, 0]
        expected: dict[int, Expected] = {0: (np.cumsum(rows, 1) - rows).astype(np.uint32)}
        if stores_sum:
            expected[2] = rows.sum(1).astype(np.uint32)
        instance = f"prescan<{str(bool(stores_sum)).lower()}, {str(bool(short)).lower()}>"
        launches.append(Launch(grid, threads, args, expected, (256 + 16) * 4, instance))
    return launches


@declare("huffman/scanLargeArray_kernel.cu", "uniformAdd")
def add_sums(scale: int) -> Launch:
    grid = 4 * scale
    x, sums = integers(grid, 256, dtype=np.uint32), integers(grid + 1, seed=1, dtype=np.uint32)
    return Launch(grid, 128, [x, sums, 256, 1, 0], {0: x + sums[1:, None]})


def _words(bits: list[str], size: int) -> Array:
    """Return a string of bits as 32-bit words, padded with zeros."""
    text = "".join(bits).ljust(32 * size, "0")
    return np.array([int(text[n : n + 32], 2) for n in range(0, 32 * size, 32)], np.uint32)


@declare("huffman/vlc_kernel_sm64huff.cu", "vlc_encode_kernel_sm64huff")
def encode(scale: int) -> Launch:
    grid, threads = 3 * scale, 256
    lengths = integers(256, low=2, high=11, dtype=np.uint32)
    codes = (integers(256, high=2**10, seed=1) % 2**lengths).astype(np.uint32)
    data = integers(grid * threads * 4, high=256, seed=2, dtype=np.uint8).reshape(grid, -1)
    words = masked(grid, threads)
    sizes = []
    for row, block in zip(words, data, strict=True):
        bits = [format(codes[byte], f"0{lengths[byte]}b") for byte in block]
        sizes.append(sum(map(len, bits)))
        used = sizes[-1] // 32 + 1
        row[:used] = _words(bits, used)
    words = np.ma.array(words.data.astype(np.uint32), mask=words.mask)
    unused = [np.zeros(grid * threads, np.uint32) for _ in range(3)]
    outputs = [new(grid, threads, dtype=np.uint32), new(grid, dtype=np.uint32)]
    args = [data.reshape(-1, 4)[:, ::-1].copy().view(np.uint32), codes, lengths, *unused, *outputs]
    return Launch(grid, threads, args, {6: words, 7: np.array(sizes, np.uint32)}, 3 * 256 * 4)


@declare("huffman/pack_kernels.cu", "pack2")
def pack(scale: int) -> Launch:
    chunks, room = 32 * scale, 20
    sizes = integers(chunks, low=64, high=32 * room - 40, dtype=np.uint32)
    texts = ["".join(map(str, integers(size, high=2, seed=n))) for n, size in enumerate(sizes)]
    source = np.stack([_words([text], room) for text in texts])
    total = int(sizes.sum()) // 32 + 2
    places = (np.cumsum(sizes) - sizes).astype(np.uint32)
    args = [source, sizes, places, np.zeros(total, np.uint32), room]
    zeros = (
        "a thread ors the bits of its last word that do not fit into the word after it, without a barrier "
        "before the next thread stores this word; there are no such bits then"
    )
    return Launch(chunks // 16, 16, args, {3: _words(texts, total)}, true_alarms=zeros)


@declare("dwt2d/components.cu", "c_CopySrcToComponents", "c_CopySrcToComponent")
def components(scale: int, kernel: str) -> list[Launch]:
    channels = 3 if kernel.endswith("s") else 1
    pixels, grid = 1000 * scale, blocks(1000 * scale, 256)
    source = integers(grid * 256, channels, high=256, dtype=np.uint8)
    launches = []
    for name, dtype in (("float", np.float32), ("int", np.int32)):
        values: Any = (
            source[:pixels].T / 255 - 0.5 if name == "float" else source[:pixels].T.astype(np.int32) - 128
        )
        outputs = [new(pixels, dtype=dtype) for _ in range(channels)]
        args = [*outputs, source, pixels]
        launches.append(Launch(grid, 256, args, dict(enumerate(values)), instance=f"{kernel}<{name}>"))
    return launches


@declare("mummergpu/src/mummergpu_kernel.cu", "mummergpuRCKernel")
def nothing(scale: int) -> Launch:
    matches, queries = integers(100 * scale, 2), integers(200 * scale, dtype=np.int8)
    return Launch(4, 32, [matches, queries, integers(100), integers(100, seed=1), 100, 5], {})


# The four steps of a wavelet transform: what is added to an element for the sum of its two neighbours.
FACTORS = (-1.586134342, -0.05298011854, 0.8829110762, 0.4435068522)
SCALE = 1.230174104914


def _lifted(x: Array, axis: int, name: str) -> Array:
    """Return the low and the high half of a wavelet transform along an axis."""
    low, high = (np.moveaxis(x, axis, -1)[..., first::2].copy() for first in (0, 1))

    def right(a: Array) -> Array:
        return np.asarray(a + np.concatenate([a[..., 1:], a[..., -1:]], -1))

    def left(a: Array) -> Array:
        return np.asarray(a + np.concatenate([a[..., :1], a[..., :-1]], -1))

    if name == "53":
        high -= np.trunc(right(low) / 2)
        low += np.trunc((left(high) + 2) / 4)
    else:
        for n in (0, 2):
            high += FACTORS[n] * right(low)
            low += FACTORS[n + 1] * left(high)
        low, high = low / SCALE, high * SCALE
    return np.moveaxis(np.stack([low, high]), -1, axis + 1)


@declare("dwt2d/dwt_cuda/fdwt53.cu", "fdwt53Kernel")
@declare("dwt2d/dwt_cuda/fdwt97.cu", "fdwt97Kernel")
@declare("dwt2d/dwt_cuda/rdwt53.cu", "rdwt53Kernel")
@declare("dwt2d/dwt_cuda/rdwt97.cu", "rdwt97Kernel")
def wavelets(scale: int, kernel: str) -> list[Launch]:
    rows, columns, name = 48 * scale, 160 * scale, kernel[4:6]
    dtype = np.int32 if name == "53" else np.float32
    x = integers(rows, columns, low=-128, high=128).astype(dtype)
    vertical = _lifted(x.astype(np.float64), 0, name)
    bands = np.concatenate([_lifted(half, 1, name) for half in vertical])  # LL, HL, LH, HH
    bands = bands.astype(dtype)
    given, expected = (x, bands) if kernel[0] == "f" else (bands, x)
    args = [given, new(*expected.shape, dtype=dtype), columns, rows, 1]
    launches = []
    for width in (64, 128, 192):
        height = 6 if name == "97" and width < 192 else 8
        instance = f"dwt_cuda::{kernel}<{width}, {height}>"
        grid = blocks(columns, width), blocks(rows, height)
        launches.append(Launch(grid, width, args, {1: expected}, rtol=1e-4, instance=instance))
    return launches


# Sorting ---------------------------------------------------------------------------------------

BUCKETS = 1024


@declare("hybridsort/bucketsort_kernel.cu", "bucketprefixoffset")
def offsets_of_blocks(scale: int) -> Launch:
    counts = integers(6 * scale, BUCKETS, dtype=np.uint32)
    sums = np.cumsum(counts, 0, np.uint32)
    args = [counts, new(BUCKETS, dtype=np.uint32), len(counts)]
    return Launch(BUCKETS // 32, 32, args, {0: sums - counts, 1: sums[-1]})


@declare("hybridsort/bucketsort_kernel.cu", "bucketsort")
def into_buckets(scale: int) -> Launch:
    n, grid = 1500 * scale, 4
    x, bucket, block = normal(n), integers(n, high=BUCKETS), np.arange(n) // 32 % grid
    order = np.lexsort((block, bucket))
    expected, place = x[order], np.empty(n, np.int32)
    place[order] = np.arange(n)
    starts = np.searchsorted(bucket[order], np.arange(BUCKETS)).astype(np.uint32)
    prefix = np.zeros((grid, BUCKETS), np.uint32)
    np.add.at(prefix, (block, bucket), 1)
    prefix = np.cumsum(prefix, 0, np.uint32) - prefix
    rank = place - starts[bucket] - prefix[block, bucket]
    indices = ((rank.astype(np.int32) << 10) + bucket).astype(np.int32)
    return Launch(grid, 32, [x, indices, new(n), n, prefix, starts], {2: expected})


@declare("hybridsort/histogram1024_kernel.cu", "histogram1024Kernel")
def histogram_by_warp(scale: int) -> Launch:
    n = 3000 * scale
    bins = integers(n, high=1024)
    x = ((bins + 0.5) / 1024 * 4 - 2).astype(np.float32)
    args = [np.zeros(1024, np.uint32), x, -2.0, 2.0, n]
    expected = {0: np.bincount(bins, minlength=1024).astype(np.uint32)}
    return Launch(4, 96, args, expected)


@declare("hybridsort/mergesort_kernel.cu", "mergepack")
def pack_divisions(_scale: int) -> Launch:
    sizes = integers(BUCKETS, high=9)
    ends, room = np.cumsum(sizes), 4
    x = normal(BUCKETS * room * 4)
    starts = np.append(0, ends).astype(np.int32)
    empty = (4 * room - sizes - 3).astype(np.int32)
    source = room * 4 * np.repeat(np.arange(BUCKETS), sizes) + np.repeat(empty, sizes)
    expected = x[source + np.arange(ends[-1]) - np.repeat(starts[:-1], sizes)]
    first = (room * np.arange(BUCKETS + 1)).astype(np.int32)
    variables = {"constStartAddr": first, "finalStartAddr": starts, "nullElems": empty}
    return Launch((1, BUCKETS), 32, [x, new(ends[-1])], {1: expected}, variables=variables)


# Cells of blood --------------------------------------------------------------------------------


@declare("leukocyte/CUDA/track_ellipse_kernel.cu", "IMGVF_kernel")
def track(_scale: int) -> Launch:
    """Two cells of at most 32 pixels, one warp: warps do not wait for each other's reads."""
    shapes, steps, vx, vy, e = ((4, 8), (5, 6)), 3, 0.6, 0.8, 0.5
    fields = [uniform(*shape, seed=n) for n, shape in enumerate(shapes)]
    images = [uniform(*shape, seed=2 + n) for n, shape in enumerate(shapes)]
    expected = [
        _tracked(field, image, steps, (vx, vy), e) for field, image in zip(fields, images, strict=True)
    ]
    pointers = [
        Packed(lambda at: np.array(at[:2], np.uint64)),
        Packed(lambda at: np.array(at[2:], np.uint64)),
    ]
    sizes = [np.array(each, np.int32) for each in zip(*shapes, strict=True)]
    alarms = "the threads store new values without a barrier after the others' reads of the old ones"
    return Launch(
        2,
        320,
        [*pointers, *sizes, vx, vy, e, steps, 0.0],
        {9 + n: each for n, each in enumerate(expected)},
        memory=[*fields, *images],
        rtol=1e-4,
        true_alarms=alarms,
    )


def _tracked(field: Array, image: Array, steps: int, v: tuple[float, float], e: float) -> Array:
    """Return the gradient vector flow after some steps."""
    x = field.astype(np.float64)
    rows, columns = x.shape
    for _ in range(steps):
        p, change = np.pad(x, 1, "edge"), np.zeros_like(x)
        for dy in (-1, 0, 1):
            for dx in (-1, 0, 1):
                difference = p[1 + dy : 1 + dy + rows, 1 + dx : 1 + dx + columns] - x
                change += (np.arctan(difference * (dx * v[0] + dy * v[1]) / e) / 3.14159 + 0.5) * difference
        x = x + 0.1 * change
        x = x - 0.2 * image * (x - image)
    return x


# Kernels that read `texture<…>` variables, which CUDA 12 has removed.
declare("hybridsort/bucketsort_kernel.cu", "bucketcount")(refused)
declare("hybridsort/mergesort_kernel.cu", "mergeSortFirst", "mergeSortPass")(refused)
declare("kmeans/kmeans_cuda_kernel.cu", "kmeansPoint")(refused)
declare("leukocyte/CUDA/find_ellipse_kernel.cu", "GICOV_kernel", "dilate_kernel")(refused)
declare("mummergpu/src/mummergpu_kernel.cu", "mummergpuKernel", "printKernel")(refused)
