"""Tests of loads, stores and copies: types, vectors, qualifiers, state spaces, parameters by address."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import gpulab
from tests.simt.patterns import random_bits
from tests.simt.ptx_harness import HEAD, entry, launch, simulator

Array = npt.NDArray[Any]
TYPES = ["u8", "s8", "b8", "u16", "s16", "b16", "u32", "s32", "b32", "f32", "u64", "s64", "b64", "f64"]


def size(ty: str) -> int:
    return int(ty[1:]) // 8


def register(ty: str, number: int) -> str:
    if ty[0] == "f":
        return f"%f{number}" if ty == "f32" else f"%d{number}"
    return f"%h{number}" if size(ty) < 4 else f"%r{10 + number}" if size(ty) == 4 else f"%rd{10 + number}"


def address(target: str, base: str, step: int) -> str:
    return f"\tmul.wide.u32 %rd30, %r0, {step};\n\tadd.s64 {target}, {base}, %rd30;\n"


@pytest.mark.parametrize("ty", TYPES)
@pytest.mark.parametrize("count", [1, 2, 4])
def test_vectors_of_every_type_are_copied(ty: str, count: int) -> None:
    step = size(ty) * count
    source = random_bits(8, 96 * step, count)
    names = ", ".join(register(ty, n) for n in range(count))
    vector, registers = (f".v{count}", f"{{{names}}}") if count > 1 else ("", names)
    body = address("%rd8", "%rd0", step) + address("%rd9", "%rd1", step)
    body += f"\tld.global{vector}.{ty} {registers}, [%rd8];\n\tst.global{vector}.{ty} [%rd9], {registers};"
    _, actual = launch(entry(2, body), 2, 48, source, np.zeros_like(source))
    assert np.array_equal(actual, source)


@pytest.mark.parametrize("ty", ["u32", "f32", "b64"])
def test_vectors_of_eight(ty: str) -> None:
    count = 8 if size(ty) == 4 else 4
    source = random_bits(8, 64 * 32, 3)
    registers = "{" + ", ".join(register(ty, n) for n in range(count)) + "}"
    body = address("%rd8", "%rd0", 32) + address("%rd9", "%rd1", 32)
    body += f"\tld.global.v{count}.{ty} {registers}, [%rd8];\n\tst.global.v{count}.{ty} [%rd9], {registers};"
    _, actual = launch(entry(2, body), 1, 64, source, np.zeros_like(source))
    assert np.array_equal(actual, source)


@pytest.mark.parametrize(
    ("ty", "expected"), [("u8", "u1"), ("s8", "i1"), ("u16", "u2"), ("s16", "i2"), ("b16", "u2")]
)
def test_narrow_load_is_extended_to_its_register(ty: str, expected: str) -> None:
    source = random_bits(8 * size(ty), 64, 1)
    body = address("%rd8", "%rd0", size(ty)) + address("%rd9", "%rd1", 4)
    body += f"\tld.global.{ty} %r5, [%rd8];\n\tst.global.u32 [%rd9], %r5;"
    _, actual = launch(entry(2, body), 1, 64, source, np.zeros(64, np.uint32))
    assert np.array_equal(actual, source.view(expected).astype(np.int64).astype(np.uint32))


LOADS = [
    "ld.global.nc.L1::no_allocate.L2::128B.u32", "ld.volatile.global.u32", "ld.relaxed.gpu.global.u32",
    "ld.acquire.sys.global.u32", "ld.global.ca.u32", "ld.global.cg.u32", "ld.global.cs.u32",
    "ld.global.lu.u32", "ld.global.cv.u32", "ld.weak.global.u32", "ld.global.nc.u32", "ldu.global.u32",
    "ld.mmio.relaxed.sys.global.u32", "ld.global.L1::evict_last.u32", "ld.global.L2::64B.u32", "ld.u32",
    "ld.relaxed.cta.u32",
]  # fmt: skip
STORES = [
    "st.volatile.global.u32", "st.relaxed.gpu.global.u32", "st.release.sys.global.u32", "st.global.wb.u32",
    "st.global.cg.u32", "st.global.cs.u32", "st.global.wt.u32", "st.weak.global.u32", "st.u32",
    "st.global.L1::no_allocate.u32", "st.mmio.relaxed.sys.global.u32",
]  # fmt: skip


def test_qualifiers_and_cache_hints_have_no_effect_on_values() -> None:
    source = random_bits(32, 64, 1)
    body = address("%rd8", "%rd0", 4)
    for number in range(max(len(LOADS), len(STORES))):
        load, store = LOADS[number % len(LOADS)], STORES[number % len(STORES)]
        body += address("%rd9", "%rd1", 4) + f"\t{load} %r5, [%rd8];\n\t{store} [%rd9+{256 * number}], %r5;\n"
    body += "\tcreatepolicy.fractional.L2::evict_last.b64 %rd20, 1.0;\n"
    body += "\tld.global.L2::cache_hint.u32 %r5, [%rd8], %rd20;\n"
    rows = max(len(LOADS), len(STORES)) + 1
    body += f"\tst.global.L2::cache_hint.u32 [%rd9+{256 * (rows - 1)}], %r5, %rd20;\n"
    _, actual = launch(entry(2, body), 1, 64, source, np.zeros(64 * rows, np.uint32))
    assert np.array_equal(actual.reshape(rows, 64), np.tile(source, (rows, 1)))


def test_shared_and_local_memory_by_name_and_by_generic_address() -> None:
    source = random_bits(32, 64, 2)
    body = (
        address("%rd8", "%rd0", 4) + "\tld.global.u32 %r5, [%rd8];\n"
        "\tshl.b32 %r6, %r2, 2;\n\tmov.u32 %r7, tile;\n\tadd.u32 %r7, %r7, %r6;\n"
        "\tst.shared.u32 [%r7], %r5;\n"
        "\tbar.sync 0;\n"
        "\tmov.u64 %rd10, tile;\n\tcvta.shared.u64 %rd11, %rd10;\n\txor.b32 %r8, %r6, 252;\n"
        "\tcvt.u64.u32 %rd12, %r8;\n\tadd.s64 %rd11, %rd11, %rd12;\n\tld.u32 %r9, [%rd11];\n"
        "\tmov.u64 %rd13, own;\n\tst.local.u32 [%rd13+8], %r9;\n\tcvta.local.u64 %rd14, %rd13;\n"
        "\tld.u32 %r9, [%rd14+8];\n\tcvta.to.local.u64 %rd15, %rd14;\n\tld.local.u32 %r9, [%rd15+8];\n"
        "\tisspacep.shared %p1, %rd11;\n\tisspacep.local %p2, %rd14;\n\tisspacep.global %p3, %rd8;\n"
        "\tand.pred %p1, %p1, %p2;\n\tand.pred %p1, %p1, %p3;\n\tisspacep.global %p4, %rd11;\n"
        "\tnot.pred %p4, %p4;\n\tand.pred %p1, %p1, %p4;\n\tselp.b32 %r9, %r9, 0, %p1;\n"
        + address("%rd9", "%rd1", 4) + "\tst.global.u32 [%rd9], %r9;"
    )  # fmt: skip
    text = entry(2, body, "\t.shared .align 4 .b8 tile[256];\n\t.local .align 8 .b8 own[16];")
    _, actual = launch(text, 1, 64, source, np.zeros(64, np.uint32))
    assert np.array_equal(actual, source[::-1])


def test_module_and_function_variables() -> None:
    text = entry(
        1,
        "\tld.const.u32 %r5, [table+4];\n\tld.global.u32 %r6, [inside+8];\n\tmov.u64 %rd10, table;\n"
        "\tmov.u64 %rd11, table+8;\n\tsub.u64 %rd12, %rd11, %rd10;\n\tcvt.u32.u64 %r7, %rd12;\n"
        "\tld.global.u64 %rd13, [where];\n\tld.u32 %r8, [%rd13];\n"
        "\tst.global.v4.u32 [%rd0], {%r5, %r6, %r7, %r8};",
        "\t.global .b32 inside[4] = {10, 20, 30, 40};",
    )
    text = text.replace(
        ".visible .entry",
        ".const .align 4 .u32 table[3] = {7, 8, 9};\n.global .u64 where = generic(table)+8;\n.visible .entry",
    )
    (actual,) = launch(text, 1, 32, np.zeros(4, np.uint32))
    assert list(actual) == [8, 30, 8, 9]


PARAMETERS = (
    HEAD
    + """
.visible .entry k(.param .align 4 .b8 s[32], .param .u64 out, .param .align 8 .b8 t[16])
{
	.reg .b32 %r<9>;
	.reg .b64 %rd<9>;
	ld.param.u64 %rd1, [out];
	mov.u32 %r1, %tid.x;
	and.b32 %r2, %r1, 7;
	mul.wide.u32 %rd2, %r2, 4;
	mov.b64 %rd3, s;
	add.s64 %rd4, %rd3, %rd2;
	ld.param.u32 %r3, [%rd4];
	cvta.param.u64 %rd5, %rd4;
	ld.u32 %r4, [%rd5];
	ld.param.u32 %r5, [t+12];
	add.u32 %r3, %r3, %r4;
	add.u32 %r3, %r3, %r5;
	mul.wide.u32 %rd6, %r1, 4;
	add.s64 %rd7, %rd1, %rd6;
	st.global.u32 [%rd7], %r3;
	ret;
}
"""
)


def test_struct_parameter_with_run_time_index() -> None:
    device = simulator()
    kernel = device.load_ptx(PARAMETERS)
    out = device.zeros(32, np.uint32)
    values = np.arange(100, 108, dtype=np.uint32)
    last = np.array([1, 2, 3, 4], np.uint32)
    kernel((1, 1, 1), (32, 1, 1), [values.tobytes(), out.allocation.address, last.tobytes()])
    assert np.array_equal(device.asnumpy(out), 2 * np.tile(values, 4) + 4)


def test_index_outside_the_parameters_faults() -> None:
    kernel = simulator().load_ptx(PARAMETERS.replace("and.b32 %r2, %r1, 7", "add.u32 %r2, %r1, 100"))
    with pytest.raises(gpulab.MemoryFault):
        kernel((1, 1, 1), (32, 1, 1), [bytes(32), 0, bytes(16)])


def test_parameter_read_past_the_end_is_refused() -> None:
    kernel = simulator().load_ptx(PARAMETERS.replace("[t+12]", "[t+16]"))
    with pytest.raises(gpulab.UnsupportedInstruction, match="parameters"):
        kernel((1, 1, 1), (32, 1, 1), [bytes(32), 0, bytes(16)])


# -- asynchronous copies -------------------------------------------------------------------------

TILE = "\t.shared .align 16 .b8 tile[1024];"


def copied(instruction: str, length: int, source: Array) -> Array:
    """Return the thread's 16 bytes of shared memory after a copy from [%rd8] to [%r7]."""
    body = address("%rd8", "%rd0", length) + address("%rd9", "%rd1", 16)
    body += "\tshl.b32 %r6, %r2, 4;\n\tmov.u32 %r7, tile;\n\tadd.u32 %r7, %r7, %r6;\n"
    body += "\tst.shared.v4.u32 [%r7], {-1, -1, -1, -1};\n"
    body += f"\t{instruction}\n\tcp.async.commit_group;\n\tcp.async.wait_group 0;\n\tcp.async.wait_all;\n"
    body += "\tld.shared.v4.u32 {%r10, %r11, %r12, %r13}, [%r7];\n"
    body += "\tst.global.v4.u32 [%rd9], {%r10, %r11, %r12, %r13};"
    _, actual = launch(entry(2, body, TILE), 1, 64, source, np.zeros(64 * 16, np.uint8))
    return actual.reshape(64, 16)


@pytest.mark.parametrize("length", [4, 8, 16])
def test_asynchronous_copies(length: int) -> None:
    source = random_bits(8, 64 * length, 1)
    kind = "cg" if length == 16 else "ca"
    actual = copied(f"cp.async.{kind}.shared.global.L2::128B [%r7], [%rd8], {length};", length, source)
    assert np.array_equal(actual[:, :length], source.reshape(64, length))
    assert np.all(actual[:, length:] == 255)


def test_asynchronous_copy_pads_with_zeros() -> None:
    source = random_bits(8, 64 * 16, 1)
    actual = copied(
        "and.b32 %r5, %r2, 15; cp.async.ca.shared::cta.global [%r7], [%rd8], 16, %r5;", 16, source
    )
    expected = source.reshape(64, 16).copy()
    for thread in range(64):
        expected[thread, thread & 15 :] = 0
    assert np.array_equal(actual, expected)


def test_asynchronous_copy_reads_only_its_source_bytes() -> None:
    """The array ends inside the last thread's 16 bytes."""
    source = random_bits(8, 64 * 16 - 9, 1)
    last = "setp.eq.u32 %p1, %r2, 63; selp.b32 %r5, 7, 16, %p1;"
    actual = copied(f"{last} cp.async.ca.shared.global [%r7], [%rd8], 16, %r5;", 16, source)
    assert np.array_equal(actual.reshape(-1)[: len(source)], source)
    assert not actual.reshape(-1)[len(source) :].any()
    with pytest.raises(gpulab.MemoryFault):
        copied("mov.u32 %r5, 16; cp.async.ca.shared.global [%r7], [%rd8], 16, %r5;", 16, source)


def test_asynchronous_copy_with_ignored_source() -> None:
    source = random_bits(8, 32 * 16, 1)  # half of the threads have no source
    actual = copied("setp.gt.u32 %p1, %r2, 31; cp.async.ca.shared.global [%r7], [%rd8], 16, %p1;", 16, source)
    assert np.array_equal(actual[:32].reshape(-1), source)
    assert not actual[32:].any()


# -- matrices ------------------------------------------------------------------------------------


def moved(instruction: str, shared: Array) -> Array:
    """Run an instruction on 256 half-words in shared memory; %r20 is the address of the lane's row."""
    body = "\tshl.b32 %r6, %r2, 4;\n\tmov.u32 %r7, tile;\n\tadd.u32 %r20, %r7, %r6;\n" + address(
        "%rd8", "%rd0", 16
    )
    body += "\tld.global.v4.u32 {%r10, %r11, %r12, %r13}, [%rd8];\n"
    body += "\tst.shared.v4.u32 [%r20], {%r10, %r11, %r12, %r13};\n"
    body += f"\tbar.sync 0;\n\t{instruction}\n" + address("%rd9", "%rd1", 16)
    body += "\tst.global.v4.u32 [%rd9], {%r10, %r11, %r12, %r13};"
    _, actual = launch(entry(2, body, TILE), 1, 32, shared, np.zeros(32 * 4, np.uint32))
    return actual.reshape(32, 4)


def fragment(matrix: Array) -> Array:
    """Return an 8x8 matrix of half-words as the registers of the lanes."""
    pairs = matrix.reshape(8, 4, 2).astype(np.uint32)
    return (pairs[:, :, 0] | pairs[:, :, 1] << 16).reshape(32)


@pytest.mark.parametrize("trans", ["", ".trans"])
def test_ldmatrix_of_four_matrices(trans: str) -> None:
    shared = random_bits(16, 256, 1)
    text = f"ldmatrix.sync.aligned.m8n8.x4{trans}.shared.b16 {{%r10, %r11, %r12, %r13}}, [%r20];"
    actual = moved(text, shared)
    for number, matrix in enumerate(shared.reshape(4, 8, 8)):
        assert np.array_equal(actual[:, number], fragment(matrix.T if trans else matrix))


@pytest.mark.parametrize(("count", "registers"), [(1, "%r10"), (2, "%r10, %r11")])
def test_ldmatrix_ignores_the_addresses_of_other_lanes(count: int, registers: str) -> None:
    shared = random_bits(16, 256, 4)
    away = f"setp.ge.u32 %p1, %r2, {8 * count}; @%p1 mov.b32 %r20, 1;"
    actual = moved(f"{away} ldmatrix.sync.aligned.m8n8.x{count}.shared.b16 {{{registers}}}, [%r20];", shared)
    for number in range(count):
        assert np.array_equal(actual[:, number], fragment(shared.reshape(4, 8, 8)[number]))


def test_movmatrix_transposes() -> None:
    shared = random_bits(16, 256, 2)
    text = "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r10}, [%r20];"
    text += " movmatrix.sync.aligned.m8n8.trans.b16 %r11, %r10;"
    actual = moved(text, shared)
    assert np.array_equal(actual[:, 1], fragment(shared.reshape(4, 8, 8)[0].T))


@pytest.mark.parametrize("trans", ["", ".trans"])
def test_stmatrix(trans: str) -> None:
    shared = random_bits(16, 256, 3)
    text = (
        "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r10, %r11}, [%r20]; bar.sync 0;"
        f" stmatrix.sync.aligned.m8n8.x2{trans}.shared.b16 [%r20], {{%r11, %r10}}; bar.sync 0;"
        " ld.shared.v4.u32 {%r10, %r11, %r12, %r13}, [%r20];"
    )
    actual = moved(text, shared).view(np.uint16).reshape(4, 8, 8)
    first, second = shared.reshape(4, 8, 8)[:2]
    assert np.array_equal(actual[0], second.T if trans else second)
    assert np.array_equal(actual[1], first.T if trans else first)


def test_matrix_row_outside_shared_memory_faults() -> None:
    text = "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10, %r11, %r12, %r13}, [%r20];"
    with pytest.raises(gpulab.MemoryFault):
        moved("add.u32 %r20, %r20, 1024; " + text, random_bits(16, 256, 1))


# -- invalid addresses ----------------------------------------------------------------------------


@pytest.mark.parametrize("ty", ["u8", "u32", "u64"])
@pytest.mark.parametrize("where", [0, 1, 2, (1 << 63) + 1, (1 << 64) - 1])
def test_invalid_address_faults_at_the_first_access(ty: str, where: int) -> None:
    body = f"\tmov.u64 %rd5, {where};\n\tld.global.{ty} %rd6, [%rd5];\n\tst.global.u64 [%rd0], %rd6;"
    with pytest.raises(gpulab.MemoryFault):
        launch(entry(1, body), 1, 32, np.zeros(4, np.uint64))


def test_misaligned_lane_of_a_row_faults() -> None:
    body = "\tmul.wide.u32 %rd5, %r2, 2;\n\tadd.s64 %rd5, %rd5, %rd0;\n\tld.global.u32 %r5, [%rd5];\n"
    with pytest.raises(gpulab.MemoryFault, match="multiple"):
        launch(entry(1, body + "\tst.global.u32 [%rd0], %r5;"), 1, 32, np.zeros(64, np.uint32))


def test_undeclared_local_memory_faults() -> None:
    with pytest.raises(gpulab.MemoryFault):
        launch(
            entry(1, "\tmov.u64 %rd5, 0;\n\tld.local.u32 %r5, [%rd5];\n\tst.global.u32 [%rd0], %r5;"),
            1,
            32,
            np.zeros(1),
        )
