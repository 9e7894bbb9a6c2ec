"""`cp.async.bulk`: copies of one thread between global and shared memory (PTX manual, section 9.7.9.25.4).

A copy is made at once, 16 bytes for each lane of the warp at a time. Its bytes count as pending for the
`mbarrier` object, or for the group, that the kernel waits for. A block is a cluster of its own, so that
`shared::cluster` is the shared memory of the block. Copies of tensors are refused.
"""

from __future__ import annotations

from dataclasses import replace

from gpulab.errors import UnsupportedInstruction
from gpulab.simt.analysis.divergence import WARP
from gpulab.simt.codegen.addressing import AddressCheck, address
from gpulab.simt.codegen.context import CodegenContext
from gpulab.simt.codegen.instruction_forms import handles, refuses
from gpulab.simt.codegen.ir import Value, vector
from gpulab.simt.instructions.loads_stores import read, write
from gpulab.simt.instructions.mbarrier import complete_bytes
from gpulab.simt.ptx.syntax import Instruction, Mem, Operand, Reg

CHUNK = 16  # bytes: the alignment of a bulk copy, and its part that one lane copies
HINT = "{.L2::cache_hint}"

refuses("tensor maps", "cp.async.bulk.tensor", "cp.reduce.async.bulk.tensor", "cp.async.bulk.prefetch.tensor")
refuses("reductions by bulk copies", "cp.reduce")


@handles(
    "cp.async.bulk.commit_group", "cp.async.bulk.wait_group{.read}", f"cp.async.bulk.prefetch.L2.global{HINT}"
)
def nothing(cg: CodegenContext, item: Instruction) -> None:
    """Emit nothing: a copy is complete at once."""


@handles(
    f"cp.async.bulk.shared::cta|shared::cluster.global.mbarrier::complete_tx::bytes{HINT}",
    "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes",
    f"cp.async.bulk.global.shared::cta.bulk_group{HINT}",
)
def bulk_copy(cg: CodegenContext, item: Instruction) -> None:
    """Copy the bytes of each active lane, one lane after the other, and count them at the `mbarrier`."""
    to, source = item.parts[3].split("::")[0], item.parts[4].split("::")[0]
    target_address = _lane_addresses(cg, item, 0, to)
    source_address = _lane_addresses(cg, item, 1, source)
    sizes = cg.b.value(
        f"zext {vector('i32')} {cg.to_vector(cg.operand(item.operands[2], 'i32'))} to {vector('i64')}"
    )
    barriers = (
        _lane_addresses(cg, item, 3, "shared") if "mbarrier::complete_tx::bytes" in item.parts else None
    )

    for space, where in ((to, target_address), (source, source_address)):
        _check_ends(cg, item, space, where, sizes)
    _copy_lanes(cg, item, (to, target_address), (source, source_address), sizes, barriers)
    if barriers is not None:
        complete_bytes(cg, item, item.operands[3], item.operands[2])


def _lane_addresses(cg: CodegenContext, item: Instruction, operand: int, space: str) -> str:
    """Return the address of each lane as a vector."""
    memory: Operand = item.operands[operand]
    if not isinstance(memory, Mem):
        raise UnsupportedInstruction(item.text, item.line, "an operand that is not an address")
    return cg.to_vector(address(cg, memory, space))


def _check_ends(cg: CodegenContext, item: Instruction, space: str, where: str, sizes: str) -> None:
    """Check the first and the last bytes of each lane's copy, so that a fault names the thread that copies.

    The size must be a multiple of 16: otherwise the address of the last bytes is misaligned.
    """
    b, ty = cg.b, vector("i64")
    action = "writes" if space == item.parts[3].split("::")[0] else "reads"
    some = b.value(f"icmp ne {ty} {sizes}, zeroinitializer")
    back = b.value(f"select {vector('i1')} {some}, {ty} {sizes}, {ty} splat (i64 {CHUNK})")
    end = b.value(f"add {ty} {where}, {back}")
    last = b.value(f"sub {ty} {end}, splat (i64 {CHUNK})")
    for addresses in (where, last):
        site = cg.add_site(action, space, CHUNK)
        AddressCheck(cg, Value("i64", "varying", (addresses,)), space, CHUNK, site, item.predicate).check()


def _copy_lanes(
    cg: CodegenContext,
    item: Instruction,
    target: tuple[str, str],
    source: tuple[str, str],
    sizes: str,
    barriers: str | None,
) -> None:
    """Emit a loop over the lanes that copy; `target` and `source` are state spaces with their addresses."""
    with cg.each_lane(cg.mask_bits(item.predicate)) as lane:

        def of_lane(values: str) -> str:
            return cg.b.value(f"extractelement {vector('i64')} {values}, i32 {lane}")

        start, size = of_lane(target[1]), of_lane(sizes)
        with cg.whole_warp():
            _copy_chunks(cg, item, (target[0], start), (source[0], of_lane(source[1])), size)
        if barriers is not None:
            cg.instrumentation.on_bulk_copy(cg, start, size, of_lane(barriers))


def _copy_chunks(
    cg: CodegenContext, item: Instruction, target: tuple[str, str], source: tuple[str, str], size: str
) -> None:
    """Emit a loop over the parts of one copy that a warp copies together."""
    b = cg.b
    before, loop, done = b.label, b.new_label("chunks"), b.new_label("copied")
    b.branch(b.value(f"icmp ne i64 {size}, 0"), loop, done)
    with cg.side_block(loop):
        at, next_at = b.name("at"), b.name("at")
        head = len(b.lines)
        offsets = _row(cg, at)
        inside = b.value(f"icmp ult {vector('i64')} {cg.to_vector(offsets)}, {b.splat('i64', size)}")
        name = f"%inside{b.count}"
        cg.flat.registers[name] = "pred"
        cg.assign(Reg(name), Value("i1", "varying", (inside,)))

        part = replace(item, predicate=Reg(name))
        from_address, to_address = (
            _row(cg, b.value(f"add i64 {start}, {at}")) for _, start in (source, target)
        )
        values = read(cg, from_address, source[0], "i32", CHUNK // 4, CHUNK, part)
        write(cg, to_address, target[0], "i32", CHUNK, values, part)

        b.line(f"{next_at} = add i64 {at}, {WARP * CHUNK}")
        last = b.label
        b.branch(b.value(f"icmp ult i64 {next_at}, {size}"), loop, done)
        b.lines.insert(head, f"  {at} = phi i64 [ 0, %{before} ], [ {next_at}, %{last} ]")
    b.open(done)


def _row(cg: CodegenContext, start: str) -> Value:
    """Return the address of each lane's part, from the address of the first part."""
    rows = range(0, WARP * CHUNK, cg.width * CHUNK)
    return Value("i64", "affine", tuple(cg.b.value(f"add i64 {start}, {row}") for row in rows), CHUNK)
