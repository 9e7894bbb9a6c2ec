"""Tests of `mma` and `wmma` against exact arithmetic, with fragments as the PTX manual defines them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import gpulab
from tests.simt.ptx_harness import HEAD, launch, simulator
from tests.simt.tensor_reference import LAYOUTS, STORAGE, Place, Types, matrix_product, random_matrix

Array = npt.NDArray[Any]
Warp = tuple[Array, Array, Array]  # A, B and C
KINDS = ("normal", "wide", "tiny", "special")

HALF: list[Types] = [(d, "f16", "f16", c) for d in ("f32", "f16") for c in ("f32", "f16")]
BF16: Types = ("f32", "bf16", "bf16", "f32")
TF32: Types = ("f32", "tf32", "tf32", "f32")
F64: Types = ("f64", "f64", "f64", "f64")
BYTES: list[Types] = [("s32", a, b, "s32") for a in ("s8", "u8") for b in ("s8", "u8")]
MMA = [
    *(("m16n8k8", types) for types in (HALF[0], HALF[3], BF16, TF32, F64)),
    *(("m16n8k16", types) for types in (HALF[0], HALF[3], BF16, *BYTES, F64)),
    *(("m16n8k4", types) for types in (TF32, F64)),
    ("m8n8k4", F64),
    *((shape, types) for shape in ("m8n8k16", "m16n8k32") for types in BYTES),
]


def sizes(shape: str) -> tuple[int, int, int]:
    m, rest = shape[1:].split("n")
    n, k = rest.split("k")
    return int(m), int(n), int(k)


def warps_of(shape: str, types: Types, seed: int) -> list[Warp]:
    """Return A, B and C for several warps."""
    m, n, k = sizes(shape)
    random = np.random.default_rng(seed)
    kinds = KINDS * 2 if types[0] != "s32" else ("normal",) * 4
    return [
        (
            random_matrix(random, types[1], (m, k), kind),
            random_matrix(random, types[2], (k, n), kind),
            random_matrix(random, types[3], (m, n), kind if number < 4 else "normal"),
        )
        for number, kind in enumerate(kinds)
    ]


# -- mma -----------------------------------------------------------------------------------------


def registers_of(matrix: Array, place: Place, count: int) -> Array:
    """Return the registers of a warp, one row for each register of a lane."""
    elements = np.empty((32, count), matrix.dtype)
    for lane in range(32):
        for i in range(count):
            elements[lane, i] = matrix[place(i, *divmod(lane, 4))]
    word = np.uint64 if matrix.dtype == np.float64 else np.uint32
    return np.ascontiguousarray(elements).view(word).T.copy()


def matrix_of(registers: Array, dtype: str, shape: tuple[int, int], place: Place) -> Array:
    """Return the matrix whose fragment is in registers."""
    elements = np.ascontiguousarray(registers.T).view(dtype)
    matrix = np.empty(shape, dtype)
    for lane in range(32):
        for i in range(elements.shape[1]):
            matrix[place(i, *divmod(lane, 4))] = elements[lane, i]
    return matrix


def mma_kernel(instruction: str, counts: list[int], words: list[int], head: str = HEAD) -> str:
    """Return a kernel that executes an instruction on the registers of each warp.

    `counts` and `words` are the registers of A, B, C and D, and their bytes.
    """
    d, *rest = [part for part in instruction.split(".") if part not in ("satfinite", "rn")][-4:]
    names, types = "abcd", [*rest, d]
    kinds = [ty if ty in ("f32", "f64") else "b32" for ty in types]
    lines = [
        f".reg .{kind} %{name}<{count}>;" for name, kind, count in zip(names, kinds, counts, strict=True)
    ]
    lines += [".reg .b64 %rd<9>;", ".reg .b32 %r<9>;", "mov.u32 %r0, %ctaid.x;", "mov.u32 %r1, %tid.x;"]
    vectors = {name: "{" + ", ".join(f"%{name}{n}" for n in range(c)) + "}"
               for name, c in zip(names, counts, strict=True)}  # fmt: skip
    for number, (name, ty, count, word) in enumerate(zip(names, kinds, counts, words, strict=True)):
        lines += [f"ld.param.u64 %rd0, [p{number}];", f"mad.lo.u32 %r2, %r0, {32 * count}, %r1;",
                  f"mul.wide.u32 %rd1, %r2, {word};", "add.s64 %rd0, %rd0, %rd1;"]  # fmt: skip
        if name == "d":
            lines.append(f"{instruction} {', '.join(vectors[x] for x in 'dabc')};")
        for register in range(count):
            place, operand = f"[%rd0+{32 * word * register}]", f"%{name}{register}"
            store = f"st.global.{ty} {place}, {operand};"
            lines.append(store if name == "d" else f"ld.global.{ty} {operand}, {place};")
    parameters = ", ".join(f".param .u64 p{n}" for n in range(4))
    return f"{head}.visible .entry k({parameters})\n{{\n" + "\n".join(lines) + "\nret;\n}\n"


def multiplied(shape: str, types: Types, suffix: str, warps: list[Warp], head: str = HEAD) -> list[Array]:
    """Return D of each warp."""
    layout = LAYOUTS[shape, {"bf16": "f16", "u8": "s8"}.get(types[1], types[1])]
    places = (layout.a, layout.b, layout.c)
    inputs = [
        np.stack([registers_of(warp[n], places[n], layout.counts[n]) for warp in warps]) for n in range(3)
    ]
    m, n, _ = sizes(shape)
    result = registers_of(np.zeros((m, n), STORAGE[types[0]]), layout.c, layout.counts[2])
    arrays = [*inputs, np.stack([result] * len(warps))]
    counts, words = [a.shape[1] for a in arrays], [a.dtype.itemsize for a in arrays]
    text = mma_kernel(f"mma.sync.aligned.{shape}.row.col.{suffix}", counts, words, head)
    registers = launch(text, len(warps), 32, *arrays)[3]
    return [matrix_of(part, STORAGE[types[0]], (m, n), layout.c) for part in registers]


def assert_same_bits(actual: Array, expected: Array) -> None:
    """Compare matrices; NaNs of f64 may have any bits."""
    if actual.dtype == np.float64:
        assert np.array_equal(np.isnan(actual), np.isnan(expected))
        actual, expected = (np.where(np.isnan(x), 0, x).view(np.uint64) for x in (actual, expected))
    assert np.array_equal(actual, expected)


@pytest.mark.parametrize(("shape", "types"), MMA, ids=lambda x: x if isinstance(x, str) else ".".join(x))
def test_mma(shape: str, types: Types) -> None:
    warps = warps_of(shape, types, seed=len(shape) + sum(map(len, types)))
    for actual, warp in zip(multiplied(shape, types, ".".join(types), warps), warps, strict=True):
        assert_same_bits(actual, matrix_product(*warp, types))


@pytest.mark.parametrize("types", [HALF[0], HALF[3], BF16])
def test_sums_before_hopper_take_eight_products_at_once(types: Types) -> None:
    warps = warps_of("m16n8k16", types, seed=5)
    head = HEAD.replace("sm_90", "sm_80")
    found = multiplied("m16n8k16", types, ".".join(types), warps, head)
    for actual, warp in zip(found, warps, strict=True):
        assert_same_bits(actual, matrix_product(*warp, types, architecture=80))
    later = [matrix_product(*warp, types) for warp in warps]
    assert any(not np.array_equal(x, y) for x, y in zip(found, later, strict=True))


def test_negative_sum_that_f16_rounds_to_zero_is_positive() -> None:
    a, b = np.full((16, 8), 0x8001, np.uint16), np.full((8, 8), 0x0001, np.uint16)  # -2^-24 and 2^-24
    c = np.zeros((16, 8), np.uint16)
    types = ("f16",) * 4
    (found,) = multiplied("m16n8k8", types, ".".join(types), [(a, b, c)])
    assert not found.any()
    assert_same_bits(found, matrix_product(a, b, c, types))


@pytest.mark.parametrize("types", BYTES)
def test_satfinite_saturates_the_whole_sum(types: Types) -> None:
    warps = warps_of("m16n8k32", types, seed=9)
    for _, _, c in warps:
        c[::2] = np.iinfo(np.int32).max - 100
        c[1::2] = np.iinfo(np.int32).min + 100
    found = multiplied("m16n8k32", types, "satfinite." + ".".join(types), warps)
    last = multiplied("m16n8k32", types, ".".join(types) + ".satfinite", warps)
    assert all(np.array_equal(x, y) for x, y in zip(found, last, strict=True))
    wrapped = multiplied("m16n8k32", types, ".".join(types), warps)
    for actual, plain, warp in zip(found, wrapped, warps, strict=True):
        assert np.array_equal(actual, matrix_product(*warp, types, saturates=True))
        assert np.array_equal(plain, matrix_product(*warp, types))
        assert not np.array_equal(actual, plain)


def test_a_sum_of_negative_zeros_is_positive() -> None:
    a, b = np.full((16, 16), 0x8000, "u2"), np.zeros((16, 8), "u2")
    c = np.full((16, 8), 0x80000000, "u4")
    (actual,) = multiplied("m16n8k16", HALF[0], "f32.f16.f16.f32", [(a, b, c)])
    assert not actual.any()


# -- wmma ----------------------------------------------------------------------------------------

WMMA = [
    *(
        (shape, types)
        for shape in ("m16n16k16", "m32n8k16", "m8n32k16")
        for types in (HALF[0], BF16, BYTES[0])
    ),
    *(("m16n16k16", types) for types in (*HALF[1:], *BYTES[3:])),
    ("m16n16k8", TF32),
    ("m8n8k4", F64),
]
PADDING = 16  # elements between the ends of two rows or columns in memory; rows need 16-byte alignment
COPIED_BYTES = 32 * (32 + PADDING) * 4


def fragment_registers(shape: str, use: str, ty: str) -> int:
    """Return the registers of a fragment in one lane, as the manual's table of `wmma` has them."""
    m, n, k = sizes(shape)
    if ty == "f16" and use != "c":
        return 8
    count = {"a": m * k, "b": k * n, "c": m * n}[use] // 32
    return max(count * min(np.dtype(STORAGE[ty]).itemsize, 4) // 4, 1) if ty != "f64" else count


def wmma_kernel(shape: str, types: Types, layouts: str, stride: str, space: str = "") -> str:
    """Return a kernel with pointers to A, B, C and D; `layouts` has those of A, B and C or D."""
    d, a, b, c = types
    rows, columns, of_c = layouts.split()
    kinds = {"a": a, "b": b, "c": c, "d": d}
    counts = {name: fragment_registers(shape, "c" if name == "d" else name, ty) for name, ty in kinds.items()}
    pairs = [("a", rows), ("b", columns), ("c", of_c)]
    lines = [
        f".reg .{ {'f64': 'f64', 'f32': 'f32'}.get(kinds[n], 'b32') } %{n}<{counts[n]}>;" for n in "abcd"
    ]
    lines += [".reg .b64 %rd<9>;", ".reg .b32 %r<9>;", ".reg .pred %p<1>;"]
    lines += [f"ld.param.u64 %rd{n}, [p{n}];" for n in range(4)] + ["ld.param.u32 %r0, [stride];"]
    if space == ".shared":
        lines += [line for number in range(3) for line in copy_to_shared(number)]
    vectors = {name: "{" + ", ".join(f"%{name}{n}" for n in range(counts[name])) + "}" for name in "abcd"}
    for number, (name, layout) in enumerate(pairs):
        operation = f"wmma.load.{name}.sync.aligned.{layout}.{shape}{space}.{kinds[name]}"
        lines.append(f"{operation} {vectors[name]}, [%rd{number}]{stride};")
    named = f"{d}.{c}" if a == "f16" else ".".join(types)
    rounding = ".rn" if a == "f64" else ""
    operation = f"wmma.mma.sync.aligned.{rows}.{columns}.{shape}.{named}{rounding}"
    lines.append(f"{operation} {', '.join(vectors[name] for name in 'dabc')};")
    lines.append(f"wmma.store.d.sync.aligned.{of_c}.{shape}.{d} [%rd3], {vectors['d']}{stride};")
    parameters = ", ".join([*(f".param .u64 p{n}" for n in range(4)), ".param .u32 stride"])
    return f"{HEAD}.visible .entry k({parameters})\n{{\n" + "\n".join(lines) + "\nret;\n}\n"


def copy_to_shared(number: int) -> list[str]:
    """Return PTX that copies a matrix to shared memory and replaces its address in %rd0, %rd1 or %rd2."""
    return [
        f".shared .align 32 .b8 s{number}[{COPIED_BYTES}];",
        "mov.u32 %r1, %tid.x;",
        "shl.b32 %r1, %r1, 2;",
        f"L{number}: cvt.u64.u32 %rd4, %r1;",
        f"add.s64 %rd4, %rd4, %rd{number};",
        "ld.global.u32 %r2, [%rd4];",
        f"mov.u32 %r3, s{number};",
        "add.u32 %r3, %r3, %r1;",
        "st.shared.u32 [%r3], %r2;",
        "add.u32 %r1, %r1, 128;",
        f"setp.lt.u32 %p0, %r1, {COPIED_BYTES};",
        f"@%p0 bra L{number};",
        "bar.warp.sync -1;",
        f"mov.u64 %rd{number}, s{number};",
    ]


def in_memory(matrix: Array, layout: str, pitch: int) -> Array:
    """Return a matrix as it is in memory, with `pitch` elements from one row or column to the next."""
    lines = matrix if layout == "row" else matrix.T
    padded = np.zeros((max(32, COPIED_BYTES // (pitch * lines.itemsize)), pitch), lines.dtype)
    padded[: lines.shape[0], : lines.shape[1]] = lines
    return padded


@pytest.mark.parametrize(("shape", "types"), WMMA, ids=lambda x: x if isinstance(x, str) else ".".join(x))
def test_wmma(shape: str, types: Types) -> None:
    check_wmma(shape, types)


@pytest.mark.parametrize("shape", ["m16n16k16", "m32n8k16", "m8n32k16"])
@pytest.mark.parametrize("types", [HALF[0], BYTES[0]], ids=".".join)
def test_wmma_from_shared_memory(shape: str, types: Types) -> None:
    """Fragments of A and B are loaded by rows, except those of bytes that are not neighbours in memory."""
    check_wmma(shape, types, ".shared")


def check_wmma(shape: str, types: Types, space: str = "", architecture: int = 90) -> None:
    """Compare a product in two pairs of layouts with the reference."""
    warp = warps_of(shape, types, seed=3)[3]
    expected = matrix_product(*warp, types, architecture, wmma=True)
    pitch = 32 + PADDING
    dev = simulator()
    for layouts in ("row col row", "col row col"):
        kernel = dev.load_ptx(wmma_kernel(shape, types, layouts, ", %r0", space))
        names = layouts.split()
        arrays = [dev.asarray(in_memory(m, name, pitch)) for m, name in zip(warp, names, strict=True)]
        result = dev.asarray(in_memory(np.zeros_like(expected), names[2], pitch))
        kernel(1, 32, (*arrays, result, pitch))
        actual = dev.asnumpy(result)
        m, n, _ = sizes(shape)
        actual = actual[:m, :n] if names[2] == "row" else actual[:n, :m].T
        assert_same_bits(actual, expected)


def test_wmma_without_a_stride_has_packed_matrices() -> None:
    warp = warps_of("m32n8k16", BF16, seed=4)[0]
    dev = simulator()
    kernel = dev.load_ptx(wmma_kernel("m32n8k16", BF16, "col col row", "", ".global"))
    arrays = [dev.asarray(m) for m in (warp[0].T.copy(), warp[1].T.copy(), warp[2])]
    result = dev.zeros((32, 8), np.uint32)
    kernel(1, 32, (*arrays, result, 0))
    assert_same_bits(dev.asnumpy(result), matrix_product(*warp, BF16))


@pytest.mark.parametrize(
    ("instruction", "registers"),
    [
        ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "three"),
        ("mma.sync.aligned.m16n8k16.row.row.f32.f16.f16.f32", "layout"),
        ("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", "type"),
        ("mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", "sparse"),
    ],
)
def test_other_forms_are_refused_by_name(instruction: str, registers: str) -> None:
    counts = [3 if registers == "three" else 4, 2, 4, 4]
    text = mma_kernel(instruction, counts, [4, 4, 4, 4])
    with pytest.raises(gpulab.UnsupportedInstruction, match="mma"):
        launch(text, 1, 32, *[np.zeros(128, np.uint32)] * 4)


# -- lanes ---------------------------------------------------------------------------------------


def test_a_block_that_is_no_multiple_of_a_warp_faults() -> None:
    text = mma_kernel("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", [4, 2, 4, 4], [4, 4, 4, 4])
    with pytest.raises(gpulab.LaunchError, match="All 32 threads") as error:
        launch(text, 1, 16, *[np.zeros(128, np.uint32)] * 4)
    (finding,) = error.value.findings
    assert (finding.tool, finding.kind) == ("synccheck", "partial_warp")


@pytest.mark.parametrize("operation", ["ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r3}, [%r4]",
                                       "movmatrix.sync.aligned.m8n8.trans.b16 %r3, %r4"])  # fmt: skip
def test_a_matrix_instruction_in_a_divergent_branch_faults(operation: str) -> None:
    text = (
        f"{HEAD}.visible .entry k(.param .u64 p)\n{{ .reg .b32 %r<9>; .reg .pred %p; .shared .b8 s[512];"
        " mov.u32 %r1, %tid.x; setp.lt.u32 %p, %r1, LIMIT; mov.u32 %r4, s;"
        f" @!%p bra DONE; {operation}; DONE: ret; }}\n"
    )
    with pytest.raises(gpulab.LaunchError, match="All 32 threads"):
        launch(text.replace("LIMIT", "7"), 1, 32, np.zeros(4, np.uint32))
    launch(text.replace("LIMIT", "32"), 1, 32, np.zeros(4, np.uint32))
    launch(text.replace("LIMIT", "0"), 1, 32, np.zeros(4, np.uint32))


def test_a_predicate_that_is_false_for_all_lanes_keeps_the_result() -> None:
    text = mma_kernel("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", [4, 2, 4, 4], [4, 4, 4, 4])
    text = text.replace("mma.sync", "setp.ne.u32 %never, %r1, %r1; mov.f32 %d0, 0f00000007; @%never mma.sync")
    text = text.replace(".reg .b64", ".reg .pred %never; .reg .b64")
    one = np.full(128, 0x3F803F80, np.uint32)
    assert (launch(text, 1, 32, one, one, one, np.zeros(128, np.uint32))[3][:32] == 7).all()
