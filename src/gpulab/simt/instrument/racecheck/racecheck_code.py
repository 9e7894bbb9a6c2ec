"""The sanitized tier: which thread touched which cell of memory last, and whether it may touch it now.

Each cell of global and of shared memory (as many bytes as the kernel's smallest access there) has a
shadow of four words: when and by whom it was written last, when and by whom it was read last. Time is a
count of the worker's that goes on at every barrier, `__syncwarp`, fence and new block. An access looks at
its cells' shadows, 32 lanes at once: it is fine when the last one was by the same thread, or lies before
the last synchronisation of the two threads (FastTrack's epochs: Flanagan and Freund, PLDI 2009; here with
one clock for a warp, and one more for the lanes within it). Lanes for which that is not plain are handed
to `races.RacecheckRecorder`, which knows the whole rule: counted barriers, fences, equal values.

Cells are numbered from the start of their array; the shadow is four arrays one after the other, so that
a row of lanes reads each of them as one vector.
"""

from __future__ import annotations

from importlib import resources
from string import Template

from gpulab.simt.analysis.divergence import WARP
from gpulab.simt.codegen.context import CodegenContext
from gpulab.simt.codegen.gather_scatter import gather
from gpulab.simt.codegen.ir import BITS, Builder, Value, vector
from gpulab.simt.codegen.memory_access import MemoryAccess
from gpulab.simt.instructions.collective import group_by_group
from gpulab.simt.instrument.base import INSTRUMENTATIONS, Instrumentation
from gpulab.simt.instrument.racecheck.shadow_memory import (
    ACTIONS,
    ALWAYS,
    SHADOW,
    SITE_SHIFT,
    SITES,
    STATE,
    STRONG,
    SWAP,
    WHAT,
    Shadows,
    signed,
)
from gpulab.simt.ptx.syntax import Imm, Instruction, type_size
from gpulab.simt.runtime import layout

__all__ = ["RacecheckInstrumentation"]

I1, I32, I64 = vector("i1"), vector("i32"), vector("i64")


def _runtime() -> str:
    text = resources.files("gpulab.simt.instrument.racecheck").joinpath("racecheck.ll").read_text()
    return Template(text).safe_substitute({name: str(at) for name, at in STATE.items()})


class RacecheckInstrumentation(Instrumentation):
    """Emits the look at the shadows before every access to global and shared memory."""

    tier = "sanitized"
    optimize_up_to_lines, optimize_small_up_to_lines = 10_000, 3_000
    runtime = _runtime()

    def on_entry(self, cg: CodegenContext) -> None:
        sizes: dict[str, set[int]] = {"global": set(), "shared": set()}
        self.flags = bool(cg.analysis.spin_loops)  # whether threads may wait for one another's flags
        for item in (i for block in cg.flow.blocks for i in block.code):
            self.flags |= item.op in ("membar", "fence")
            for space, size in _touched(item):
                sizes[space].add(size)
        self.granule = {space: min([8, *found]) for space, found in sizes.items()}
        cg.metadata["granules"] = self.granule
        cg.metadata["shared"] = cg.launch_constants.shared
        self.values_at = cg.b.alloca("[64 x i64]", "values")
        self.addresses_at = cg.b.alloca("[32 x i64]", "addresses")
        self.state = cg.load_field("observed", "ptr")

    # -- what synchronises ----------------------------------------------------------------------

    def on_warp_sync(self, cg: CodegenContext, item: Instruction) -> None:
        if "sync" not in item.parts:
            return  # a form from before Volta, which waits for nobody
        b = cg.b
        mask = cg.operand(item.operands[-1], "i32")
        self.check_lanes(cg, item, mask)
        here = cg.mask_bits(item.predicate)
        absent = b.value(f"xor i32 {cg.combine_masks('and', mask)}, -1")
        everyone = b.value(f"icmp eq i32 {b.value(f'and i32 {absent}, {here}')}, 0")
        # Where not all lanes meet all others, the host notes which ones do; a shuffle does not order memory.
        if item.op == "bar":
            wide = b.value(f"zext {I32} {cg.to_vector(mask)} to {I64}")
            b.line(f"store {I64} {wide}, ptr {self.addresses_at}, align 64")
            masks = b.value(f"select i1 {everyone}, ptr null, ptr {self.addresses_at}")
            b.line(f"call void @san_warp_sync(ptr %ctx, i32 %warp, i32 {here}, ptr {masks})")
            return
        full, on = b.new_label("full"), b.new_label("on")
        b.branch(everyone, full, on)
        b.open(full)
        b.line(f"call void @san_warp_sync(ptr %ctx, i32 %warp, i32 {here}, ptr null)")
        b.jump(on)
        b.open(on)

    def check_lanes(self, cg: CodegenContext, item: Instruction, mask: Value) -> None:
        """Every lane that a mask names has to come with the same mask, the lane itself among them."""
        b = cg.b
        here = cg.mask_bits(item.predicate)
        others = "0"
        for number in sorted(cg.analysis.frontier[cg.block_number]):
            if item.op == "bar" and number in _ways_to_sync(cg):
                continue  # they may come to a __syncwarp() of their own, which is as good
            others = b.value(f"or i32 {others}, {b.value(f'load i32, ptr {cg.suspended[number]}')}")
        named = cg.combine_masks("or", mask)
        missing = b.value(f"and i32 {named}, {others}")
        own = b.value(f"shl {I32} splat (i32 1), {cg.lane_vector}")
        without = b.value(f"and {I32} {cg.to_vector(mask)}, {own}")
        without = cg.pack_mask(b.value(f"icmp eq {I32} {without}, zeroinitializer"))
        without = b.value(f"and i32 {without}, {here}")
        if mask.kind != "uniform":
            missing = b.value(f"or i32 {missing}, {self.unlike(cg, mask, here)}")
        access = cg.add_site("names lanes", "warp", 0)
        for kind, lanes in (("mask_without_caller", without), ("missing_lanes", missing)):
            wrong, on = b.new_label("wrong"), b.new_label("on")
            b.branch(b.value(f"icmp ne i32 {lanes}, 0"), wrong, on, likely=False)
            with cg.side_block(wrong):
                cg.fault(kind, access, lanes)
            b.open(on)

    def unlike(self, cg: CodegenContext, mask: Value, here: str) -> str:
        """The lanes here that another lane's mask names, and that came with another mask than that one."""
        b = cg.b
        masks = cg.to_vector(mask)

        def each(lane: str, result: str) -> tuple[str, str]:
            one = b.value(f"extractelement {I32} {masks}, i32 {lane}")
            same = b.value(f"icmp eq {I32} {masks}, {b.splat('i32', one)}")
            group = b.value(f"and i32 {cg.pack_mask(same)}, {here}")
            unlike = b.value(f"and i32 {here}, {b.value(f'xor i32 {group}, -1')}")
            strange = b.value(f"and i32 {one}, {unlike}")
            return group, b.value(f"or i32 {result}, {strange}")

        return group_by_group(cg, here, "i32", each, "0")

    def on_barrier(self, cg: CodegenContext, expected: str) -> None:
        """PTX counts threads at a barrier by whole warps."""
        b = cg.b
        if expected == "0":
            return
        odd = b.value(f"icmp ne i32 {b.value(f'and i32 {expected}, {WARP - 1}')}, 0")
        wrong, on = b.new_label("wrong"), b.new_label("on")
        b.branch(odd, wrong, on, likely=False)
        with cg.side_block(wrong):
            cg.fault(
                "barrier_count",
                cg.add_site("waits at", "barrier", 0),
                cg.mask(),
                b.value(f"zext i32 {expected} to i64"),
            )
        b.open(on)

    def on_fence(self, cg: CodegenContext, item: Instruction) -> None:
        mask = cg.mask_bits(item.predicate)
        cg.b.line(f"call void @san_fence(ptr %ctx, i32 %warp, i32 {mask})")

    def on_async_copy(self, cg: CodegenContext, item: Instruction) -> None:
        """The groups that may still be on their way afterwards; -1: a group ends here."""
        left = 0
        if "commit_group" in item.parts:
            left = -1
        elif "wait_group" in item.parts and isinstance(item.operands[0], Imm):
            left = int(item.operands[0].value)
        everything = int("wait_group" not in item.parts)
        which = f"i32 {cg.mask()}, i32 {left}, i32 {everything}"
        what = f"i32 {WHAT['grouped']}, i32 %warp, ptr null, {which}, ptr null"
        cg.b.line(f"call void @san_ask(ptr %ctx, {what})")

    def on_arrive(self, cg: CodegenContext, barrier: str) -> None:
        what = f"i32 {WHAT['arrive']}, i32 %warp, ptr null, i32 0, i32 {barrier}, i32 0, ptr null"
        cg.b.line(f"call void @san_ask(ptr %ctx, {what})")

    # -- accesses -------------------------------------------------------------------------------

    def on_access(self, cg: CodegenContext, access: MemoryAccess) -> None:
        if access.space in ("local", "const"):
            return
        strong = self.is_strong(access)
        if strong and {"release", "acq_rel"} & set(access.item.parts) | {access.item.op} & {"mbarrier"}:
            self.on_fence(cg, access.item)
        granule = self.granule["shared" if access.space == "shared" else "global"]
        granule = min(granule, access.size)
        for part in range(access.size // granule):
            _Look(self, cg, access, part * granule, granule, strong).emit()
        if access.item.op == "cp" and access.action == "writes":
            cg.b.line(f"store {I64} {cg.to_vector(access.address)}, ptr {self.addresses_at}, align 64")
            mask, how = cg.mask_bits(access.item.predicate), f"i32 {access.site}, i32 {access.size}"
            what = f"i32 {WHAT['copies']}, i32 %warp, ptr {self.addresses_at}, i32 {mask}, {how}, ptr null"
            cg.b.line(f"call void @san_ask(ptr %ctx, {what})")
        for what, when in (("announce", access.action != "reads"), ("acquire", access.action != "writes")):
            if strong and when:
                mask = cg.mask_bits(access.item.predicate)
                cg.b.line(f"call void @san_{what}(ptr %ctx, i32 %warp, i32 {mask})")

    def is_strong(self, access: MemoryAccess) -> bool:
        """Whether accesses of this kind may meet one another: atomics, and those that say so.

        `volatile` in shared memory counts only in a kernel with fences or waiting loops: without them it
        is the old way of writing warp-synchronous code, which needs `__syncwarp` since Volta.
        """
        parts = set(access.item.parts)
        if access.action == "updates" or parts & {"relaxed", "acquire", "release"}:
            return True
        if access.item.op == "mbarrier":
            return True
        return "volatile" in parts and (access.space != "shared" or self.flags)


def _ways_to_sync(cg: CodegenContext) -> set[int]:
    """The blocks of code from which there is a way to a `__syncwarp()`."""
    blocks = cg.flow.blocks
    found = {b.number for b in blocks if any(i.op == "bar" and "warp" in i.parts for i in b.code)}
    grows = True
    while grows:
        before = len(found)
        found |= {b.number for b in blocks if found & set(b.targets)}
        grows = len(found) > before
    return found


def _touched(item: Instruction) -> list[tuple[str, int]]:
    """The kinds of memory that an instruction touches, and the bytes of an access."""
    if item.op == "cp" and "async" in item.parts:
        return [("global", 4), ("shared", 4)]
    if item.op in ("mbarrier", "ldmatrix", "stmatrix"):
        return [("shared", 8)]
    if item.op not in ("ld", "ldu", "st", "atom", "red") or {"param", "local", "const"} & set(item.parts):
        return []
    count = next((int(p[1:]) for p in item.parts if p in ("v2", "v4", "v8")), 1)
    size = type_size(item.parts[-1]) * count
    if any(p.startswith("shared") for p in item.parts):
        return [("shared", size)]
    return [("global", size)] if "global" in item.parts else [("global", size), ("shared", size)]


def _is_swap(access: MemoryAccess) -> bool:
    """Whether an atomic does no harm to a plain read beside it: what was read is only a first guess."""
    parts = set(access.item.parts)
    return "cas" in parts or (
        bool({"min", "max"} & parts) and access.action == "updates" and access.space != "shared"
    )


class _Look:
    """One access, or one cell's part of it: which cells, how their shadows are reached."""

    def __init__(
        self,
        instrumentation: RacecheckInstrumentation,
        cg: CodegenContext,
        access: MemoryAccess,
        offset: int,
        granule: int,
        strong: bool,
    ) -> None:
        self.instrumentation, self.cg, self.b = instrumentation, cg, cg.b
        self.access, self.offset, self.granule = access, offset, granule
        self.strong, self.swap = strong, _is_swap(access)
        self.who = min(access.site, SITES) << SITE_SHIFT | STRONG * strong | SWAP * self.swap
        # A write of what is there already changes nothing for others; only global memory's are told apart.
        self.may_be_silent = (
            access.action == "writes" and access.space != "shared" and not strong
            and len(access.values) == 1 and granule == access.size
        )  # fmt: skip

    def emit(self) -> None:
        b, cg, access = self.b, self.cg, self.access
        mask = cg.mask_bits(access.item.predicate)
        base, size, shadow = self.array()
        where, whole = access.address, mask
        row = where.kind == "affine" and where.stride in (0, access.size)
        if where.kind != "varying" and (row or where.kind == "uniform"):
            quick, slow, join = b.new_label("row"), b.new_label("each"), b.new_label("looked")
            places, fine = self.rows(base, size)
            b.branch(fine, quick, slow, likely=True)
            with cg.side_block(quick):
                form = "row" if where.kind == "affine" and where.stride else "same"
                silent = self.silent_rows(form, places) if self.may_be_silent else ""
                if access.action == "reads" and access.size == self.granule:
                    mask = self.not_calm(form, places, shadow, mask)
                    work, near_start, after = b.new_label("work"), b.label, b.new_label("calm")
                    b.branch(b.value(f"icmp ne i32 {mask}, 0"), work, after)
                    b.open(work)
                if form == "row" and access.size != self.granule:
                    lanes = self.lanes_from(places)
                    near = self.call("lanes", mask, shadow, [(I64, lanes), ("i64", size)], silent)
                else:
                    near = self.call(form, mask, shadow, [("i64", place) for place in places], silent)
                if access.action == "reads" and access.size == self.granule:
                    near_end = b.label
                    b.jump(after)
                    b.open(after)
                    near = b.phi("i32", ("0", near_start), (near, near_end))
                near_end = b.label
                b.jump(join)
            with cg.side_block(slow):
                far = self.each_lane(whole, base, size, shadow)
                far_end = b.label
                b.jump(join)
            b.open(join)
            suspicious = b.phi("i32", (near, near_end), (far, far_end))
        else:
            suspicious = self.each_lane(mask, base, size, shadow)
        ask, on = b.new_label("suspicious"), b.new_label("on")
        b.branch(b.value(f"icmp ne i32 {suspicious}, 0"), ask, on, likely=False)
        with cg.side_block(ask):
            self.ask(suspicious)
            b.jump(on)
        b.open(on)

    def not_calm(self, form: str, places: list[str], shadow: str, mask: str) -> str:
        """The lanes whose read is to be noted; most read what others have read just now."""
        b, cg, state = self.b, self.cg, self.instrumentation.state
        width = cg.width if self.access.address.kind == "affine" else WARP
        times = []
        for name in ("warp_sync", "others"):
            place = b.value(f"getelementptr i8, ptr {state}, i64 {STATE[name]}")
            times.append(b.value(f"load i32, ptr {b.value(f'getelementptr i32, ptr {place}, i32 %warp')}"))
        met = b.value(f"icmp eq i32 {times[0]}, {times[1]}")
        key = b.value(f"select i1 {met}, i32 {times[1]}, i32 1")  # a time at which no barrier is
        first = b.value(f"getelementptr i8, ptr {shadow}, i64 {SHADOW['cells']}")
        shift = self.granule.bit_length() - 1
        numbers = [b.value(f"lshr i64 {place}, {shift}") for place in places]
        cells = [b.value(f"getelementptr i32, ptr {first}, i64 {number}") for number in numbers]
        always = signed(ALWAYS)
        if form == "row":
            parts = [b.value(f"load {vector('i32', width)}, ptr {cell}, align 4") for cell in cells]
            calm = b.concat("i32", parts, width)
            quiet = b.value(f"icmp eq {I32} {calm}, {b.splat('i32', key)}")
            if self.access.space != "shared":
                forever = b.value(f"icmp eq {I32} {calm}, splat (i32 {always})")
                quiet = b.value(f"or {I1} {quiet}, {forever}")
            bits = cg.pack_mask(quiet)
            return b.value(f"and i32 {mask}, {b.value(f'xor i32 {bits}, -1')}")
        loud = "0"
        for number, cell in enumerate(cells):
            calm = b.value(f"load i32, ptr {cell}")
            quiet = b.value(f"icmp eq i32 {calm}, {key}")
            if self.access.space != "shared":
                quiet = b.value(f"or i1 {quiet}, {b.value(f'icmp eq i32 {calm}, {always}')}")
            part = signed((1 << width) - 1 << number * width)
            loud = b.value(f"or i32 {loud}, {b.value(f'select i1 {quiet}, i32 0, i32 {part}')}")
        return b.value(f"and i32 {mask}, {loud}")

    def array(self) -> tuple[str, str, str]:
        """The array that is touched: its first address, its bytes, and its shadow."""
        b, cg, state = self.b, self.cg, self.instrumentation.state
        if self.access.space == "shared":
            place = b.value(f"getelementptr i8, ptr {state}, i64 {STATE['shared_shadow']}")
            return "0", cg.constant("i64", "shared_bytes"), b.value(f"load ptr, ptr {place}")
        slot = b.value(
            f"getelementptr i8, ptr {cg.site_caches}, i64 {self.access.site * layout.SITE_CACHE_BYTES}"
        )
        words = [
            b.value(f"load i64, ptr {b.value(f'getelementptr i8, ptr {slot}, i64 {at}')}")
            for at in (0, 24, 32)
        ]
        nothing = b.value(f"getelementptr i8, ptr {state}, i64 {STATE['nothing']}")
        none = b.value(f"icmp eq i64 {words[2]}, 0")
        shadow = b.value(f"inttoptr i64 {words[2]} to ptr")
        self.host = b.value(f"load ptr, ptr {b.value(f'getelementptr i8, ptr {slot}, i64 16')}")
        return words[0], words[1], b.value(f"select i1 {none}, ptr {nothing}, ptr {shadow}")

    def rows(self, base: str, size: str) -> tuple[list[str], str]:
        """Offsets of the rows in their array, and whether all of them lie inside it."""
        b, where, cg = self.b, self.access.address, self.cg
        span = self.access.size + (where.stride * (cg.width - 1) if where.kind == "affine" else 0)
        last = b.value(f"sub i64 {size}, {span}")
        places, fine = [], b.value(f"icmp sge i64 {last}, 0")
        for ref in where.refs:
            offset = ref if base == "0" else b.value(f"sub i64 {ref}, {base}")
            inside = b.value(f"icmp ule i64 {offset}, {last}")
            aligned = b.value(f"icmp eq i64 {b.value(f'and i64 {offset}, {self.access.size - 1}')}, 0")
            fine = b.value(f"and i1 {fine}, {b.value(f'and i1 {inside}, {aligned}')}")
            places.append(b.value(f"add i64 {offset}, {self.offset}") if self.offset else offset)
        return places, fine

    def lanes_from(self, places: list[str]) -> str:
        return self.cg.to_vector(Value("i64", "affine", tuple(places), self.access.address.stride))

    def each_lane(self, mask: str, base: str, size: str, shadow: str) -> str:
        b = self.b
        offsets = self.cg.to_vector(self.access.address)
        if base != "0":
            offsets = b.value(f"sub {I64} {offsets}, {b.splat('i64', base)}")
        if self.offset:
            offsets = b.value(f"add {I64} {offsets}, splat (i64 {self.offset})")
        silent = self.silent_lanes(offsets, size, mask) if self.may_be_silent else ""
        return self.call("lanes", mask, shadow, [(I64, offsets), ("i64", size)], silent)

    # -- writes of what is there already ----------------------------------------------------------

    def written(self) -> tuple[str, str]:
        """What is to be written, as integers: the type of one lane's, and all lanes'."""
        (value,) = self.access.values
        ty = f"i{BITS[value.ty]}"
        return ty, self.cg.to_vector(self.cg.as_type(value, ty))

    def silent_rows(self, form: str, places: list[str]) -> str:
        b, width = self.b, self.cg.width if self.access.address.kind == "affine" else WARP
        ty, new = self.written()
        pointers = [b.value(f"getelementptr i8, ptr {self.host}, i64 {place}") for place in places]
        if form == "row":
            parts = [b.value(f"load {vector(ty, width)}, ptr {p}, align 1") for p in pointers]
        else:
            singles = [b.value(f"load {ty}, ptr {p}, align 1") for p in pointers]
            parts = [b.splat(ty, one, width) for one in singles]
        there = b.concat(ty, parts, width)
        return self.cg.pack_mask(b.value(f"icmp eq {vector(ty)} {there}, {new}"))

    def silent_lanes(self, offsets: str, size: str, mask: str) -> str:
        b = self.b
        ty, new = self.written()
        last = b.value(f"sub i64 {size}, {self.granule}")
        roomy = b.splat("i1", b.value(f"icmp sge i64 {last}, 0"))
        fits = b.value(f"icmp ule {I64} {offsets}, {b.splat('i64', last)}")
        inside = b.value(f"and {I1} {b.value(f'and {I1} {fits}, {roomy}')}, {self.cg.unpack_mask(mask)}")
        pointers = b.value(f"getelementptr i8, ptr {self.host}, {I64} {offsets}")
        there = gather(b, ty, pointers, inside)
        same = b.value(f"icmp eq {vector(ty)} {there}, {new}")
        return self.cg.pack_mask(b.value(f"and {I1} {same}, {inside}"))

    def ask(self, suspicious: str) -> None:
        """Hand addresses, values and lanes to the host."""
        b, cg, observer = self.b, self.cg, self.instrumentation
        addresses = cg.to_vector(self.access.address)
        if self.offset:
            addresses = b.value(f"add {I64} {addresses}, splat (i64 {self.offset})")
        b.line(f"store {I64} {addresses}, ptr {observer.addresses_at}, align 64")
        values = "null"
        if self.access.values:
            values = observer.values_at
            for number, value in enumerate(self.access.values):
                place = b.value(f"getelementptr i8, ptr {values}, i64 {number * WARP * BITS[value.ty] // 8}")
                b.line(f"store {vector(value.ty)} {cg.to_vector(value)}, ptr {place}, align 1")
        how = (
            ACTIONS.index(self.access.action)
            | self.strong << 2
            | self.swap << 3
            | self.offset << 8
            | self.granule << 16
        )
        how |= len(self.access.values) << 24
        b.line(
            f"call void @san_suspect(ptr %ctx, i32 %warp, ptr {observer.addresses_at}, i32 {suspicious}, "
            f"i32 {self.access.site}, i32 {how}, ptr {values})"
        )

    # -- the function that looks ----------------------------------------------------------------

    def call(self, form: str, mask: str, shadow: str, places: list[tuple[str, str]], silent: str) -> str:
        """Call the function for this form of access; the lanes that are not plainly fine."""
        access, width = self.access, self.cg.width if self.access.address.kind == "affine" else WARP
        shared = access.space == "shared"
        kind = "shared" if shared else "global"
        # Lanes that write one place do no harm where all of them write the same.
        calm = self.strong or (bool(access.values) and all(v.kind == "uniform" for v in access.values))
        name = f"san_{form}_{len(places)}_{width}_{access.action}_{kind}_{self.granule}"
        name += "_strong" * self.strong + "_calm" * calm + "_swap" * self.swap
        arguments = [
            ("ptr", "%ctx"), ("i32", "%warp"), ("ptr", self.instrumentation.state), ("ptr", shadow),
            ("i32", mask), ("i32", str(self.who)), *places,
        ]  # fmt: skip
        if silent:
            name += "_silent"
            arguments.append(("i32", silent))

        def body(b: Builder, names: list[str]) -> str:
            shadows = Shadows(
                b,
                names[: len(names) - bool(silent)],
                form,
                width,
                access.action,
                shared,
                self.granule,
                self.strong,
                calm,
                self.swap,
            )
            shadows.silent = names[-1] if silent else ""
            return shadows.look()

        return self.b.define(name, "i32", arguments, body)


INSTRUMENTATIONS["sanitized"] = RacecheckInstrumentation
