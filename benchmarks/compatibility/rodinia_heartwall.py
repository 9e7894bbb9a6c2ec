"""Launch of rodinia's heartwall, which finds points of a frame of a video again in a later frame."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.compatibility.launches import Array, Launch, Packed, integers, masked, suite, uniform

__all__: list[str] = []

declare = suite("rodinia", "cuda/")

HALF, TEMPLATE = 25, 51  # rows of a template on each side of its point, and in all: the kernel contains them
SEARCH = 31  # rows of the area around a point on each side of it
AREA, FULL = 2 * SEARCH + 1, 2 * SEARCH + TEMPLATE  # rows of the area, and of its correlation with a template
PADDED = AREA + 2 * TEMPLATE
MOVE = 10  # rows of the displacements that count: from -5 to 4
ALPHA = 0.87  # weight of the old template in the new one
FRAMES, FRAME = 11, 10  # after each tenth frame, the templates are renewed


def _sizes(name: str, rows: int, columns: int) -> dict[str, int]:
    return {
        f"{name}_rows": rows,
        f"{name}_cols": columns,
        f"{name}_elem": rows * columns,
        f"{name}_mem": 4 * rows * columns,
    }


def _range(name: str, rows: tuple[int, int], columns: tuple[int, int]) -> dict[str, int]:
    """Return the first and last rows and columns of a selection, counted from 1."""
    return {
        f"{name}_rowlow": rows[0],
        f"{name}_rowhig": rows[1],
        f"{name}_collow": columns[0],
        f"{name}_colhig": columns[1],
    }


def _common(frame: Array, points: int) -> dict[str, Any]:
    """Return the fields of `params_common` in their order."""
    unused = {f"{side}{n}": np.uint64(0) for side in ("endo", "epi") for n in range(9)}
    pointers = list(unused.items())
    return {
        "sSize": SEARCH,
        "tSize": HALF,
        "maxMove": MOVE,
        "alpha": np.float32(ALPHA),
        "no_frames": FRAMES,
        **_sizes("frame", *frame.shape),
        "endoPoints": points,
        "endo_mem": 0,
        **dict(pointers[:9]),
        "epiPoints": 0,
        "epi_mem": 0,
        **dict(pointers[9:]),
        "allPoints": points,
        **_sizes("in", TEMPLATE, TEMPLATE),
        **_sizes("in2", AREA, AREA),
        **_sizes("conv", FULL, FULL),
        "ioffset": 0,
        "joffset": 0,
        "in2_pad_add_rows": TEMPLATE,
        "in2_pad_add_cols": TEMPLATE,
        **_sizes("in2_pad_cumv", PADDED, PADDED),
        **_sizes("in2_pad_cumv_sel", FULL, PADDED),
        **_range("in2_pad_cumv_sel", (TEMPLATE + 1, PADDED - 1), (1, PADDED)),
        **_range("in2_pad_cumv_sel2", (1, FULL), (1, PADDED)),
        **_sizes("in2_sub_cumh", FULL, PADDED),
        **_sizes("in2_sub_cumh_sel", FULL, FULL),
        **_range("in2_sub_cumh_sel", (1, FULL), (TEMPLATE + 1, PADDED - 1)),
        **_range("in2_sub_cumh_sel2", (1, FULL), (1, FULL)),
        **_sizes("in2_sub2", FULL, FULL),
        **_sizes("in2_sqr", AREA, AREA),
        **_sizes("in2_sqr_sub2", FULL, FULL),
        **_sizes("in_sqr", TEMPLATE, TEMPLATE),
        **_sizes("tMask", FULL, FULL),
        **_sizes("mask", MOVE, MOVE),
        **_sizes("mask_conv", FULL, FULL),
        "mask_conv_ioffset": MOVE // 2,
        "mask_conv_joffset": MOVE // 2,
    }


# The arrays of a point, in the order of their pointers in `params_unique`, and their sizes.
ARRAYS = {
    "in2": AREA**2,
    "conv": FULL**2,
    "in_mod": 0,
    "in2_pad_cumv": PADDED**2,
    "in2_pad_cumv_sel": FULL * PADDED,
    "in2_sub_cumh": FULL * PADDED,
    "in2_sub_cumh_sel": FULL**2,
    "in2_sub2": FULL**2,
    "in2_sqr": AREA**2,
    "in2_sqr_sub2": FULL**2,
    "in_sqr": TEMPLATE**2,
    "tMask": FULL**2,
    "mask": 0,
    "mask_conv": FULL**2,
}


def _struct(fields: Mapping[str, Any]) -> Array:
    """Return a struct as C lays it out."""
    layout = np.dtype(
        [(name, np.asarray(value, _kind(value)).dtype) for name, value in fields.items()], align=True
    )
    return np.array(tuple(fields.values()), layout)


def _kind(value: Any) -> Any:
    return value.dtype if isinstance(value, np.generic) else np.int32


def _correlation(template: Array, area: Array) -> Array:
    """Return the normalized correlation of a template with all its places in an area."""
    windows = np.lib.stride_tricks.sliding_window_view(area.astype(np.float64), template.shape)
    centered = windows - windows.mean((2, 3), keepdims=True)
    own = template - template.mean(dtype=np.float64)
    norms = np.sqrt((centered**2).sum((2, 3)) * (own**2).sum() * (template.size - 1) / template.size)
    return np.asarray((centered * own).sum((2, 3)) / norms)


@declare("heartwall/kernel.cu", "kernel")
def track(scale: int) -> Launch:
    """Move each point's surroundings by a few pixels, and add noise; rows are contiguous in the kernel."""
    points = 3 * scale
    height, width = 100, 90 * points
    first, frame = uniform(height, width), uniform(height, width, seed=1)
    row = integers(points, low=45, high=55)
    column = (90 * np.arange(points) + integers(points, low=42, high=48, seed=1)).astype(np.int32)
    moves = integers(points, 2, low=-4, high=4)
    found_row, found_column = np.zeros((points, FRAMES), np.int32), np.zeros((points, FRAMES), np.int32)
    found_row[:, FRAME - 1], found_column[:, FRAME - 1] = row, column
    templates, renewed, correlations = [], [], masked(points, FULL, FULL)
    middle = SEARCH + HALF  # of the correlation, where nothing has moved
    places = slice(middle - 5, middle + 5)
    for n, (y, x) in enumerate(zip(row, column, strict=True)):
        template = _around(first, y, x, HALF)
        dy, dx = moves[n]
        around = slice(y + dy - SEARCH, y + dy + SEARCH), slice(x + dx - SEARCH, x + dx + SEARCH)
        frame[around] = first[y - SEARCH : y + SEARCH, x - SEARCH : x + SEARCH] + 0.2 * frame[around]
        # The place of a template in the area: its last row, as the correlation counts.
        inner = _correlation(template, _around(frame, y, x, SEARCH))
        whole = np.zeros((FULL, FULL))
        whole[TEMPLATE - 1 : AREA, TEMPLATE - 1 : AREA] = inner
        correlations[n, places, places] = whole[places, places].T
        templates.append(template.T)
        renewed.append((ALPHA * template + (1 - ALPHA) * _around(frame, y + dy, x + dx, HALF)).T)
    after_row, after_column = found_row.copy(), found_column.copy()
    after_row[:, FRAME], after_column[:, FRAME] = row + moves[:, 0], column + moves[:, 1]

    size = sum(ARRAYS.values())
    scratch = np.full((points, size), np.nan, np.float32)
    expected = masked(points, size)
    start = size - FULL**2
    expected[:, start:] = correlations.reshape(points, -1)
    memory = [frame.T.copy(), row, column, found_row, found_column, np.stack(templates), scratch]
    common = _struct(_common(frame, points))

    alarms = (
        "no barrier is between the subtraction of the sums of squares and the sums of the results, and "
        "each thread stores the new place of the point, which others read"
    )

    def unique(at: list[int]) -> Array:
        return np.stack([_struct(_unique(at, n)) for n in range(51)])

    return Launch(
        points,
        32,
        [],
        {
            1: (row + moves[:, 0]).astype(np.int32),
            2: (column + moves[:, 1]).astype(np.int32),
            3: after_row,
            4: after_column,
            5: np.stack(renewed),
            6: expected,
        },
        variables={
            "d_common": common,
            "d_common_change": Packed(lambda at: _struct({"d_frame": np.uint64(at[0]), "frame_no": FRAME})),
            "d_unique": Packed(unique),
        },
        memory=memory,
        rtol=1e-4,
        defines={"RD_WG_SIZE_0": 32},  # with several warps, the missing barriers give wrong values
        true_alarms=alarms,
    )


def _around(image: Array, y: int, x: int, half: int) -> Array:
    """Return the pixels around a point, which counts rows and columns from 1."""
    return image[y - half - 1 : y + half, x - half - 1 : x + half]


def _unique(at: list[int], point: int) -> dict[str, Any]:
    """Return the fields of `params_unique` in their order."""
    _, *known, scratch = (np.uint64(each) for each in at)
    fields = dict(zip(("d_Row", "d_Col", "d_tRowLoc", "d_tColLoc", "d_T"), known, strict=True))
    starts = np.cumsum([0, *ARRAYS.values()])[:-1] + point * sum(ARRAYS.values())
    arrays = {name: scratch + np.uint64(4 * start) for name, start in zip(ARRAYS, starts, strict=True)}
    return {**fields, "point_no": point, "in_pointer": point * TEMPLATE**2, **arrays}
