"""Library of the racecheck tier: the checks of accesses that unoptimised code calls.

A check takes the addresses from an array, and the properties of the access from the facts of
`linked_functions`. Optimised code has a check for each form of access instead (see `access_check`). Both
apply the same rules.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from string import Template

from gpulab.simt.analysis.divergence import WARP
from gpulab.simt.codegen import jit
from gpulab.simt.codegen.gather_scatter import gather
from gpulab.simt.codegen.ir import Builder, vector
from gpulab.simt.instrument.linked_functions import ACCESSES, FACTS, AccessKind, signature
from gpulab.simt.instrument.racecheck.access_check import AccessForm, AccessFunction
from gpulab.simt.instrument.racecheck.barrier_intervals import leave_interval
from gpulab.simt.instrument.racecheck.shadow_check import ShadowCheck
from gpulab.simt.instrument.racecheck.shadow_layout import MAX_SITE, SHADOW, SITE_SHIFT

__all__ = ["linked_checks"]

I1, I32, I64 = vector("i1"), vector("i32"), vector("i64")
# Parameters of the check of one part of an access: context, warp, site, active lanes, facts, bytes from the
# start of the access, addresses of the lanes, and elements to be stored.
PARAMETERS = ("ptr", "i32", "i32", "i32", "i64", "i32", "ptr", "ptr")
# The function of an access: the events of the access as a whole, and the check of each of its parts. The
# condition $passes is true if the access needs neither.
FUNCTION = """
define internal $signature #1 {
  %none = icmp eq i32 %mask, 0
  br i1 %none, label %out, label %ask
ask:
$ask
  br i1 $passes, label %out, label %before
before:
  call void @sim_spread_access(i64 %facts, i64 %first, i64 %second, i64 %stride, ptr %addresses)
  %checked = call i1 @san_before_access(ptr %ctx, i32 %warp, i32 %mask, i64 %facts, ptr %addresses)
  br i1 %checked, label %start, label %out
start:
  %size.64 = lshr i64 %facts, 48
  %size = trunc i64 %size.64 to i32
  %granule.64 = lshr i64 %facts, 16
  %granule.32 = trunc i64 %granule.64 to i32
  %granule = and i32 %granule.32, 255
  br label %part
part:
  %offset = phi i32 [ 0, %start ], [ %next, %part ]
  call void @$check(ptr %ctx, i32 %warp, i32 %site, i32 %mask, i64 %facts, i32 %offset, ptr %addresses,
    ptr %values)
  %next = add i32 %offset, %granule
  %more = icmp ult i32 %next, %size
  br i1 %more, label %part, label %after
after:
  call void @san_after_access(ptr %ctx, i32 %warp, i32 %site, i32 %mask, i64 %facts, ptr %addresses)
  br label %out
out:
  ret void
}"""

READ_ONLY = """
  %passes = call i1 @san_is_in_read_only(ptr %ctx, i32 %site, i64 %facts, i64 %first, i64 %second,
    i64 %stride)"""


def linked_checks(names: Iterable[str]) -> list[str]:
    """Return units of LLVM IR that define these functions of accesses."""
    units: dict[str, None] = {}
    for name in names:
        units |= dict.fromkeys(_units(name, jit.has_gather()))
    return list(units)


@cache
def _units(name: str, _gathers: bool) -> list[str]:
    b, check = Builder(), name.replace("tier_", "san_")
    kind, space, rows = ACCESSES[name]

    def body(b: Builder, names: list[str]) -> str:
        return _PartCheck(b, names, kind, space, rows).build()

    b.add_function(check, "void", list(PARAMETERS), body)
    is_read = kind == AccessKind("reads") and space == "global"
    texts = {"ask": READ_ONLY, "passes": "%passes"} if is_read else {"ask": "", "passes": "false"}
    function = Template(FUNCTION).substitute(texts, signature=signature(name), check=check)
    # A unit has no declarations of its own, so that it is the same wherever a kernel needs it.
    return ["\n".join(sorted(b.declared)), function, *b.functions.values()]


class _PartCheck(AccessFunction):
    """Emitter of the function that checks one part of an access: its first cell, or a later one.

    `rows` is the number of rows whose lanes have one address; 0 if each lane has its own.
    """

    def __init__(self, b: Builder, names: list[str], kind: AccessKind, space: str, rows: int) -> None:
        action, strong, swap, update = kind
        form = AccessForm(
            kind="uniform" if rows else "varying", rows=rows or 1, width=WARP // (rows or 1), stride=0,
            action=action, space=space, size=0, offset=0, granule=0, strong=strong, swap=swap, update=update,
            stored=(), harmless=False, silent=action == "writes" and not strong,
        )  # fmt: skip
        super().__init__(b, names, form)
        _, _, _, _, self.facts, self.offset, self.lanes, self.stored = names

    def build(self) -> str:
        self.prepare()
        if self.form.kind == "uniform":
            undecided = self.check_rows_or_lanes()
        elif self.form.action == "reads":
            undecided = self.b.either(self.has("SETTLES"), self.check_unsettled_lanes, self.check_lanes)
        else:
            undecided = self.check_lanes()
        self.report_undecided(undecided)
        return ""

    def prepare(self) -> None:
        b, form = self.b, self.form
        if form.space == "shared":
            leave_interval(b, "%x0")
        self.state = self.load_field("recorded")
        word = b.value(f"trunc i64 {self.facts} to i32")
        self.description = b.value(f"or i32 {word}, {b.value(f'shl i32 {self.offset}, 8')}")
        granule = b.value(f"and i32 {b.value(f'lshr i32 {word}, 16')}, 255")
        shift = b.call("llvm.cttz.i32", "i32", ("i32", granule), ("i1", "false"))
        self.shift = b.value(f"zext i32 {shift} to i64")
        self.bytes = b.value(f"lshr i64 {self.facts}, {FACTS['SIZE'].bit_length() - 1}")
        self.exclusive = b.value(f"select i1 {self.has('HARMLESS')}, i32 0, i32 -1")

        site = b.value(f"shl i32 {self.site}, {SITE_SHIFT}")
        self.word = b.call("llvm.umin.i32", "i32", ("i32", site), ("i32", str(MAX_SITE << SITE_SHIFT)))
        self.word = b.value(f"or i32 {self.word}, {form.flags}")

        self.moved = b.value(f"zext i32 {self.offset} to i64")
        every = b.value(f"load {I64}, ptr {self.lanes}, align 8")
        self.each = b.value(f"add {I64} {every}, {b.splat('i64', self.moved)}")
        if form.kind == "varying":
            self.addresses = [self.each]
        else:
            places = [
                b.value(f"getelementptr i64, ptr {self.lanes}, i64 {number * form.width}")
                for number in range(form.rows)
            ]
            self.addresses = [b.value(f"load i64, ptr {place}") for place in places]
        self.locate_array()

    def has(self, fact: str) -> str:
        """Return an i1 that is true if a fact holds."""
        bits = self.b.value(f"and i64 {self.facts}, {FACTS[fact]}")
        return self.b.value(f"icmp ne i64 {bits}, 0")

    # -- rows -----------------------------------------------------------------------------------

    def row_offsets(self) -> tuple[list[str], str]:
        low_bits = self.b.value(f"sub i64 {self.bytes}, 1")
        return self.offsets_of_rows(self.bytes, low_bits, self.moved)

    def check_rows(self, offsets: list[str]) -> str:
        b, places = self.b, [("i64", offset) for offset in offsets]
        if self.form.action != "reads":
            return self.call_check("same", self.mask, places, self.silent())
        whole = b.value(f"icmp eq i64 {self.bytes}, {b.value(f'shl i64 1, {self.shift}')}")
        mask = b.value(f"select i1 {whole}, i32 {self.unsettled_lanes('same', offsets)}, i32 {self.mask}")
        work, start, after = b.new_label("work"), b.label, b.new_label("settled")
        b.branch(b.value(f"icmp ne i32 {mask}, 0"), work, after)
        b.open(work)
        undecided = self.call_check("same", mask, places, "")
        end = b.label
        b.jump(after)
        b.open(after)
        return b.phi("i32", ("0", start), (undecided, end))

    # -- lanes ----------------------------------------------------------------------------------

    def lane_offsets(self) -> str:
        return (
            self.each
            if self.base == "0"
            else self.b.value(f"sub {I64} {self.each}, {self.b.splat('i64', self.base)}")
        )

    def check_lanes(self) -> str:
        offsets = [(I64, self.lane_offsets()), ("i64", self.size)]
        return self.call_check("lanes", self.mask, offsets, self.silent())

    def check_unsettled_lanes(self) -> str:
        """Check the lanes whose read has to be recorded, if all lanes are inside their array."""
        b = self.b
        offsets = self.lane_offsets()
        cells = b.splat("i64", b.value(f"lshr i64 {self.size}, {self.shift}"))
        # Rotated right, the offset of a misaligned element is larger than the number of elements.
        turned = b.call(
            f"llvm.fshr.v{WARP}i64", I64, *[(I64, offsets)] * 2, (I64, b.splat("i64", self.shift))
        )
        inside = self.bits(b.value(f"icmp ult {I64} {turned}, {cells}"))

        lanes, start = b.new_label("lanes"), b.label
        recorded, inner, done = b.new_label("recorded"), b.new_label("inner"), b.new_label("settled")
        b.branch(b.value(f"icmp eq i32 {inside}, -1"), inner, lanes, likely=True)

        b.open(inner)
        b.branch(b.value(f"icmp eq ptr {self.shadow}, {self.at_state('read_only')}"), done, recorded)
        b.open(recorded)
        first = b.value(f"getelementptr i8, ptr {self.shadow}, i64 {SHADOW['cells']}")
        pointers = b.value(f"getelementptr i32, ptr {first}, {I64} {turned}")
        settled = gather(b, "i32", pointers, "splat (i1 true)")
        unsettled = b.value(f"and i32 {self.mask}, {self.unsettled(settled, self.settled_key())}")
        end = b.label
        b.branch(b.value(f"icmp eq i32 {unsettled}, 0"), done, lanes)

        b.open(lanes)
        mask = b.phi("i32", (self.mask, start), (unsettled, end))
        undecided = self.call_check("lanes", mask, [(I64, offsets), ("i64", self.size)], "")
        checked = b.label
        b.jump(done)

        b.open(done)
        return b.phi("i32", ("0", inner), ("0", end), (undecided, checked))

    def call_check(self, kind: str, mask: str, offsets: list[tuple[str, str]], silent: str) -> str:
        form = self.form
        width, quiet = WARP if kind == "lanes" else form.width, [("i32", silent)] if silent else []
        arguments = [
            ("ptr", "%x0"), ("i32", self.warp), ("ptr", self.state), ("ptr", self.shadow), ("i32", mask),
            ("i32", self.word), *offsets, ("i64", self.shift), ("i32", self.exclusive), *quiet,
        ]  # fmt: skip

        def body(b: Builder, names: list[str]) -> str:
            end = 6 + len(offsets)
            check = ShadowCheck(
                b, names[:end], kind, width, form.action, form.space == "shared", 0, form.strong, False,
                form.swap, form.update,
            )  # fmt: skip
            check.shift, check.exclusive = names[end : end + 2]
            check.silent = names[-1] if quiet else ""
            return check.build()

        parts = [kind, len(offsets), width, form.action, form.space, form.flags]
        return self.b.define("_".join(["san_linked", *map(str, parts)]), "i32", arguments, body)

    # -- silent writes --------------------------------------------------------------------------

    def silent(self) -> str:
        """Return the lanes that store the value that is already there, if such writes are recognized.

        The result is "" for accesses whose check needs no such lanes.
        """
        if not self.form.silent:
            return ""
        b = self.b
        arguments = [
            ("ptr", self.host), (I64, self.lane_offsets()), ("i64", self.size), ("i64", self.shift),
            ("i32", self.mask), ("ptr", self.stored),
        ]  # fmt: skip
        return b.either(
            self.has("SILENT"),
            lambda: b.define("san_silent", "i32", arguments, _silent_lanes),
            lambda: "0",
        )

    # -- report ---------------------------------------------------------------------------------

    def report(self, undecided: str) -> None:
        b, addresses = self.b, self.at_state("addresses")
        b.line(f"store {I64} {self.each}, ptr {addresses}, align 8")
        b.line(
            f"call void @san_report(ptr %x0, i32 {self.warp}, ptr {addresses}, i32 {undecided}, "
            f"i32 {self.site}, i32 {self.description}, ptr {self.stored})"
        )


def _silent_lanes(b: Builder, names: list[str]) -> str:
    """Emit the comparison of stored elements with those in memory; return the lanes with equal ones.

    `names` are the host address of the array, the lanes' offsets, the size of the array, the logarithm of an
    element's size, the active lanes, and the address of the new elements.
    """
    host, offsets, size, shift, mask, stored = names
    last = b.value(f"sub i64 {size}, {b.value(f'shl i64 1, {shift}')}")
    large_enough = b.splat("i1", b.value(f"icmp sge i64 {last}, 0"))
    fits = b.value(f"icmp ule {I64} {offsets}, {b.splat('i64', last)}")
    fits = b.value(f"and {I1} {fits}, {large_enough}")
    inside = b.value(f"and {I1} {fits}, {b.value(f'bitcast i32 {mask} to {I1}')}")

    pointers = b.value(f"getelementptr i8, ptr {host}, {I64} {offsets}")

    sizes = {0: "i8", 1: "i16", 2: "i32", 3: "i64"}
    cases = " ".join(f"i64 {size}, label %{ty}" for size, ty in sizes.items())
    b.line(f"switch i64 {shift}, label %none [ {cases} ]")
    results = [("0", "none")]
    for ty in sizes.values():
        b.open(ty)
        old = gather(b, ty, pointers, inside)
        new = b.value(f"load {vector(ty)}, ptr {stored}, align 8")
        same = b.value(f"and {I1} {b.value(f'icmp eq {vector(ty)} {old}, {new}')}, {inside}")
        results.append((b.value(f"bitcast {I1} {same} to i32"), b.label))
        b.jump("done")

    b.open("none")
    b.jump("done")
    b.open("done")
    return b.phi("i32", *results)
