"""Barrier intervals that repeat an earlier interval of their block and need no check.

A barrier interval is the time between two barriers of the whole block. All accesses before it are ordered
before all accesses in it, so that the checks of its accesses to shared memory depend on their sequence only,
and on the cells that have been written before. If the same sequence has passed all checks in an earlier
interval of the block, it passes them again. It need not be recorded in the shadow either: a later interval
only has to find that the cells were written in this block, which the earlier interval has recorded.

The first intervals of a block are recorded, one record for each access: its form, site, warp, active lanes
and the addresses of its rows. The first access of an interval selects a recorded one. As long as the accesses
equal its records, they are not checked. Another access, a tick of the clock (see `racecheck_code`) or a call
of the host ends this: the accesses so far are then checked, in their order. This has the same effect as
checks at the time of the accesses, because nothing has changed since then that they depend on. An interval
with a tick, a call of the host or an access without a record is not kept.

`intervals.ll` has the functions that generated code calls, and `shadow_layout` the state.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from gpulab.simt.codegen.ir import Builder
from gpulab.simt.instrument.racecheck.shadow_layout import RECORD_BYTES, STATE
from gpulab.simt.runtime import layout

__all__ = ["PHASES", "Record", "RecordedCheck", "leave_interval"]

PHASES = {
    "OPEN": 0,  # no access to shared memory so far
    "REPEATED": 1,  # the accesses equal those of an earlier interval
    "RECORDED": 2,  # they are checked and recorded
    "CHECKED": 3,  # they are checked
}


@dataclass(frozen=True)
class Record:
    """The values in generated code that make up the record of an access; each takes 64 bits in memory.

    Attributes
    ----------
    again : str
        Function that checks the access again; each form of access has its own.
    key : str
        A word that only accesses of the same site have in common.
    warp, mask : str
        The warp and its active lanes.
    rows : sequence of str
        The addresses of the rows, at most `RECORD_ROWS`.
    """

    again: str
    key: str
    warp: str
    mask: str
    rows: Sequence[str]

    def words(self, b: Builder) -> list[str]:
        """Return the words in memory."""
        high = b.value(f"shl i64 {b.value(f'zext i32 {self.mask} to i64')}, 32")
        who = b.value(f"or i64 {high}, {b.value(f'zext i32 {self.warp} to i64')}")
        return [f"ptrtoint (ptr @{self.again} to i64)", self.key, who, *self.rows]

    @classmethod
    def load(cls, b: Builder, place: str, again: str, rows: int) -> Record:
        """Emit the load of a record."""
        key, who, *addresses = (b.value(f"load i64, ptr {_word(b, place, n)}") for n in range(1, rows + 3))
        mask = b.value(f"trunc i64 {b.value(f'lshr i64 {who}, 32')} to i32")
        return cls(again, key, b.value(f"trunc i64 {who} to i32"), mask, addresses)

    def store(self, b: Builder, place: str) -> None:
        """Emit the store of a record; words that it does not need are 0."""
        words = self.words(b)
        for number, word in enumerate([*words, *["0"] * (RECORD_BYTES // 8 - len(words))]):
            b.line(f"store i64 {word}, ptr {_word(b, place, number)}")

    def compare(self, b: Builder, place: str, unlike: str) -> None:
        """Emit a jump to the label `unlike` if a record in memory is not this one."""
        for number, word in enumerate(self.words(b)):
            equal, other = b.new_label("equal"), b.value(f"load i64, ptr {_word(b, place, number)}")
            b.branch(b.value(f"icmp eq i64 {other}, {word}"), equal, unlike, likely=True)
            b.open(equal)


class RecordedCheck(ABC):
    """A form of the check of an access, or of several accesses, that barrier intervals have records of."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of the function that makes the check."""

    @property
    @abstractmethod
    def parameters(self) -> list[str]:
        """The types of its parameters, the first of which is the context."""

    @abstractmethod
    def call_check(self, b: Builder, arguments: Sequence[str]) -> None:
        """Emit a call of the function."""

    @abstractmethod
    def record(self, b: Builder, again: str, arguments: Sequence[str]) -> Record:
        """Return the record of an access, given the function `again` and the arguments of its check."""

    @abstractmethod
    def arguments(self, b: Builder, record: Record) -> list[str]:
        """Return the arguments of a check that is known to report nothing, after the context."""

    def call_unless_repeated(self, b: Builder, arguments: Sequence[str]) -> None:
        """Emit the check of an access to shared memory, which is not made if it repeats another one."""
        name = f"{self.name}_unless_repeated"
        b.add_function(name, "void", self.parameters, self._unless_repeated)
        b.line(f"call void @{name}({self._actual(arguments)})")

    def _record(self, b: Builder, names: list[str]) -> Record:
        again = f"{self.name}_again"
        b.add_function(again, "void", ["ptr", "ptr"], self._again)
        return self.record(b, again, names)

    def _actual(self, arguments: Sequence[str]) -> str:
        return ", ".join(f"{ty} {value}" for ty, value in zip(self.parameters, arguments, strict=True))

    def _unless_repeated(self, b: Builder, names: list[str]) -> str:
        unlike, done = b.new_label("unlike"), b.new_label("done")
        place = _at_state(b, "next_record")
        expected = b.value(f"load ptr, ptr {place}")
        self._record(b, names).compare(b, expected, unlike)
        b.line(f"store ptr {b.value(f'getelementptr i8, ptr {expected}, i64 {RECORD_BYTES}')}, ptr {place}")
        b.jump(done)

        b.open(unlike)  # in a function of its own, so that this one needs no stack
        b.add_function(f"{self.name}_unlike", "void", self.parameters, self._unlike)
        b.line(f"tail call void @{self.name}_unlike({self._actual(names)})")
        b.jump(done)
        b.open(done)
        return ""

    def _unlike(self, b: Builder, names: list[str]) -> str:
        """Emit the check of an access that does not equal the next record, and its own record."""
        ask, check, done = b.new_label("ask"), b.new_label("check"), b.new_label("done")
        phase = b.value(f"load i32, ptr {_at_state(b, 'interval_phase')}")
        b.branch(b.value(f"icmp eq i32 {phase}, {PHASES['CHECKED']}"), check, ask)
        b.open(ask)
        self._record(b, names).store(b, b.value(f"load ptr, ptr {_at_state(b, 'free_record')}"))
        b.branch(b.value("call i1 @san_repeats(ptr %x0)"), done, check)
        b.open(check)
        self.call_check(b, names)
        b.jump(done)
        b.open(done)
        return ""

    def _again(self, b: Builder, names: list[str]) -> str:
        """Emit the check of the access of a record."""
        record = Record.load(b, names[1], f"{self.name}_again", rows=self.parameters.count("i64"))
        self.call_check(b, [names[0], *self.arguments(b, record)])
        return ""


def leave_interval(b: Builder, context: str) -> None:
    """Emit the end of repeating or recording, before an access to shared memory that has no record."""
    b.line(f"call void @san_leave_interval(ptr {context})")


def _word(b: Builder, record: str, number: int) -> str:
    """Return a pointer to a word of a record."""
    return b.value(f"getelementptr i64, ptr {record}, i64 {number}")


def _at_state(b: Builder, name: str) -> str:
    """Return a pointer to a field of the worker's state; the context is `%x0`."""
    place = b.value(f"getelementptr i8, ptr %x0, i64 {layout.field('recorded')}")
    return b.value(f"getelementptr i8, ptr {b.value(f'load ptr, ptr {place}')}, i64 {STATE[name]}")
