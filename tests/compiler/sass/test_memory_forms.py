"""Shared-memory accesses that the machine code merges."""

from __future__ import annotations

from gpulab.compiler.sass.memory_forms import SharedForm, shared_forms
from gpulab.compiler.sass.sass_code import MachineCode, MachineInstruction


def code(*accesses: tuple[str, int]) -> MachineCode:
    """Return machine code of memory accesses, given by opcode and PTX line."""
    return MachineCode(
        "kernel",
        tuple(MachineInstruction(16 * i, opcode, "", "", 0, row) for i, (opcode, row) in enumerate(accesses)),
    )


FOUR_LOADS = """\
ld.shared.f32 %f1, [%r1+16];
ld.shared.f32 %f2, [%r1+20];
ld.shared.f32 %f3, [%r1+24];
ld.shared.f32 %f4, [%r1+28];
"""


def test_single_load_is_unchanged() -> None:
    assert shared_forms(code(("LDS", 1)), "ld.shared.f32 %f1, [%r1];") == {1: (SharedForm(1, 4),)}


def test_vector_store_is_unchanged() -> None:
    forms = shared_forms(code(("STS.128", 1)), "st.shared.v4.f32 [%r1], {%f1, %f2, %f3, %f4};")
    assert forms == {1: (SharedForm(1, 16),)}


def test_four_loads_are_merged() -> None:
    assert shared_forms(code(("LDS.128", 1)), FOUR_LOADS) == {1: (SharedForm(1, 16),), 2: (), 3: (), 4: ()}


def test_merged_load_starts_at_the_lowest_address() -> None:
    assert shared_forms(code(("LDS.128", 3)), FOUR_LOADS)[3] == (SharedForm(3, 16, -8),)


def test_loads_are_merged_in_pairs() -> None:
    forms = shared_forms(code(("LDS.64", 2), ("LDS.64", 3)), FOUR_LOADS)
    assert (forms[2], forms[3]) == ((SharedForm(2, 8, -4),), (SharedForm(3, 8),))


def test_load_with_a_predicate_is_recognised() -> None:
    assert shared_forms(code(("LDS", 1)), "@%p1 ld.shared.f32 %f1, [%r1];") == {1: (SharedForm(1, 4),)}


def test_load_copied_in_two_widths_has_two_forms() -> None:
    forms = shared_forms(code(("LDS.64", 1), ("LDS", 1)), "ld.shared.f32 %f1, [%r1];")
    assert [form.width for form in forms[1]] == [4, 8]


def test_variable_as_address_is_recognised() -> None:
    text = "ld.shared.f32 %f1, [tile];\nld.shared.f32 %f2, [tile+4];"
    assert shared_forms(code(("LDS.64", 1)), text) == {1: (SharedForm(1, 8),), 2: ()}


def test_global_load_has_no_form() -> None:
    assert shared_forms(code(("LDG.E", 1)), "ld.global.f32 %f1, [%rd1];") == {}


def test_store_without_an_instruction_keeps_its_form() -> None:
    text = "st.shared.f32 [%r1], %f1;\n@%p1 bra $L;\nst.shared.f32 [%r1], %f2;"
    assert shared_forms(code(("STS", 2)), text) == {1: (SharedForm(1, 4),), 3: (SharedForm(3, 4),)}
