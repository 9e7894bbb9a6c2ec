"""Which shared-memory accesses of the PTX the machine merges."""

from __future__ import annotations

from gpulab.compiler.sass.disassembly import MachineCode, MachineInstruction
from gpulab.compiler.sass.memory_forms import SharedForm, shared_forms, unmade_loads


def code(*made: tuple[str, int]) -> MachineCode:
    """Machine code of memory accesses only: opcode and line of PTX."""
    return MachineCode(
        "kernel",
        tuple(MachineInstruction(16 * i, opcode, "", "", 0, row) for i, (opcode, row) in enumerate(made)),
    )


FOUR_LOADS = """\
ld.shared.f32 %f1, [%r1+16];
ld.shared.f32 %f2, [%r1+20];
ld.shared.f32 %f3, [%r1+24];
ld.shared.f32 %f4, [%r1+28];
"""


def test_a_load_that_stays_by_itself() -> None:
    assert shared_forms(code(("LDS", 1)), "ld.shared.f32 %f1, [%r1];") == {1: (SharedForm(1, 4),)}


def test_a_vector_stays_as_it_is() -> None:
    forms = shared_forms(code(("STS.128", 1)), "st.shared.v4.f32 [%r1], {%f1, %f2, %f3, %f4};")
    assert forms == {1: (SharedForm(1, 16),)}


def test_four_loads_become_one() -> None:
    assert shared_forms(code(("LDS.128", 1)), FOUR_LOADS) == {1: (SharedForm(1, 16),), 2: (), 3: (), 4: ()}


def test_the_merged_load_may_carry_the_line_of_any_of_them() -> None:
    assert shared_forms(code(("LDS.128", 3)), FOUR_LOADS)[3] == (SharedForm(3, 16, -8),)


def test_two_pairs_of_loads() -> None:
    forms = shared_forms(code(("LDS.64", 2), ("LDS.64", 3)), FOUR_LOADS)
    assert (forms[2], forms[3]) == ((SharedForm(2, 8, -4),), (SharedForm(3, 8),))


def test_a_load_under_a_predicate_is_one_too() -> None:
    assert shared_forms(code(("LDS", 1)), "@%p1 ld.shared.f32 %f1, [%r1];") == {1: (SharedForm(1, 4),)}


def test_a_load_that_was_copied_in_two_widths_has_two_forms() -> None:
    forms = shared_forms(code(("LDS.64", 1), ("LDS", 1)), "ld.shared.f32 %f1, [%r1];")
    assert [form.width for form in forms[1]] == [4, 8]


def test_a_variable_is_an_address() -> None:
    text = "ld.shared.f32 %f1, [tile];\nld.shared.f32 %f2, [tile+4];"
    assert shared_forms(code(("LDS.64", 1)), text) == {1: (SharedForm(1, 8),), 2: ()}


def test_global_memory_is_not_looked_at() -> None:
    assert shared_forms(code(("LDG.E", 1)), "ld.global.f32 %f1, [%rd1];") == {}


def test_a_load_that_the_assembler_dropped() -> None:
    text = "ld.global.nc.f32 %f1, [%rd1];\nld.global.nc.f32 %f2, [%rd2];"
    assert unmade_loads(code(("LDG.E.CONSTANT", 1)), text) == {2}


def test_a_store_is_never_dropped() -> None:
    assert not unmade_loads(code(), "st.global.f32 [%rd1], %f1;")
