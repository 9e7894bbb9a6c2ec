"""Instruction forms: which instructions match one, and how those that match none are rejected."""

from __future__ import annotations

import re

import numpy as np
import pytest

import gpulab
from gpulab.simt.codegen import native  # noqa: F401  (registers the instructions)
from gpulab.simt.codegen.instruction_forms import FORMS, Form
from tests.simt.ptx_harness import entry, launch


def rejected(body: str) -> gpulab.UnsupportedInstruction:
    with pytest.raises(gpulab.UnsupportedInstruction) as caught:
        launch(entry(1, body), 1, 32, np.zeros(32, np.uint32))
    return caught.value


# Instructions with a modifier that no form of their operation accepts, and the modifier.
UNKNOWN_MODIFIERS = {
    "add.frz.f32 %f1, %f2, %f3;": ".frz",
    "fma.rn.oob.f16 %h1, %h2, %h3, %h4;": ".oob",
    "cvt.rs.f16x2.f32 %r5, %f1, %f2, %r6;": ".rs",
    "cvt.rn.satfinite.e2m1x2.f32 %h1, %f1, %f2;": ".e2m1x2",
    "ld.global.b128 %rd5, [%rd0];": ".b128",
    "ld.shared::cluster.u32 %r5, [%rd0];": ".shared::cluster",
    "atom.global.exch.b128 %rd5, [%rd0], %rd6;": ".b128",
    "atom.shared::cluster.add.u32 %r5, [%rd0], 1;": ".shared::cluster",
    "redux.sync.min.f32 %f1, %f2, -1;": ".f32",
    "cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%rd0], [%r5], 16, %h1;": ".cp_mask",
    "fence.proxy.alias;": ".alias",
    "prmt.b32.f5e %r5, %r6, %r7, %r8;": ".f5e",
    "st.async.shared::cluster.u32 [%rd0], %r5;": ".async",
}


@pytest.mark.parametrize("text", UNKNOWN_MODIFIERS)
def test_error_names_the_unknown_modifier(text: str) -> None:
    error = rejected(f"\t{text}")
    assert f"`{UNKNOWN_MODIFIERS[text]}`" in str(error)
    assert error.instruction == text.partition(" ")[0].rstrip(";")


INVALID_COMBINATIONS = [
    "add.sat.u32 %r5, %r6, %r7;",
    "mul.wide.u64 %rd5, %rd6, %rd7;",
    "fma.f32 %f1, %f2, %f3, %f4;",
    "vadd.u32.u32.u32.sat %r5, %r6, %r7;",
    "min.xorsign.f32 %f1, %f2, %f3;",
]


@pytest.mark.parametrize("text", INVALID_COMBINATIONS)
def test_known_modifiers_in_an_unknown_combination_are_rejected(text: str) -> None:
    assert rejected(f"\t{text}").instruction == text.partition(" ")[0]


SPARSE = "mma.sp.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32"
GPU_ONLY = [
    SPARSE + " {%f1, %f2, %f3, %f4}, {%r5, %r6, %r7, %r8}, {%r9, %r10}, {%f1, %f2, %f3, %f4}, %r11, 0;",
    "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r5, %r6, %r7, %r8}, [%rd0], 16;",
    "wgmma.fence.sync.aligned;",
    "tld4.r.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd0, {%f5, %f6}];",
    "sured.b.add.1d.u32.trap [%rd0, {%r5}], %r6;",
    "mapa.shared::cluster.u32 %r5, %r6, %r7;",
    "multimem.ld_reduce.global.add.u32 %r5, [%rd0];",
    "vmad.s32.s32.s32 %r5, %r6, %r7, %r8;",
]


def test_refused_modifiers_are_named() -> None:
    text = "cp.async.bulk.tensor.1d.shared::cta.global.mbarrier::complete_tx::bytes"
    error = rejected(f"\t{text} [%r5], [%rd0, {{%r6}}], [%r7];")
    assert (error.instruction, "tensor maps" in str(error)) == (text, True)


@pytest.mark.parametrize("text", GPU_ONLY)
def test_instruction_that_only_a_gpu_executes_is_rejected(text: str) -> None:
    error = rejected(f"\t{text}")
    assert error.instruction == text.partition(" ")[0].rstrip(";")


def test_component_of_a_scalar_register_is_rejected() -> None:
    assert rejected("\tvadd.s32.s32.s32 %r5, %r6.b1, %r7;").instruction == "%r6.b1"


VMAD = 'asm("vmad.u32.u32.u32 %0, %0, %0, %0;" : "+r"(x[0]));'


def test_error_has_the_source_line_and_is_raised_by_the_compiler() -> None:
    with pytest.raises(gpulab.UnsupportedInstruction) as caught:
        gpulab.device("sim").compile(f"__global__ void k(unsigned* x)\n{{\n    {VMAD}\n}}")
    assert caught.value.line == 3


def test_kernel_beside_one_that_is_refused_compiles() -> None:
    source = f"__global__ void k(unsigned* x) {{ {VMAD} }}\n__global__ void right(unsigned* x) {{ *x = 1; }}"
    assert gpulab.device("sim").compile(source, name="right").name == "right"


def test_instruction_of_a_called_function_is_refused() -> None:
    called = f"__device__ __noinline__ void f(unsigned* x) {{ {VMAD} }}"
    with pytest.raises(gpulab.UnsupportedInstruction) as caught:
        gpulab.device("sim").compile(called + "\n__global__ void k(unsigned* x) { f(x); }")
    assert caught.value.line == 1


def test_special_register_is_refused_by_the_compiler() -> None:
    source = '__global__ void k(unsigned* x) {\n    asm("mov.u32 %0, %envreg3;" : "=r"(x[0]));\n}'
    with pytest.raises(gpulab.UnsupportedInstruction, match=r"line 2: .*a register of the driver"):
        gpulab.device("sim").compile(source)


def test_unreachable_code_is_not_checked() -> None:
    (result,) = launch(
        entry(1, "\tbra ON;\n\ttex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [t, {%r5}];\nON:"), 1, 32, np.ones(1)
    )
    assert result[0] == 1


# -- matching -----------------------------------------------------------------------------------


def fits(op: str, *words: str) -> bool:
    return any(form.fits(words) for form in FORMS[op])


def test_modifiers_of_a_segment_with_optional_terms_may_have_any_order() -> None:
    assert fits("atom", "global", "cta", "add", "u32")
    assert fits("atom", "add", "acquire", "sys", "u32")
    assert fits("atom", "relaxed", "gpu", "global", "add", "u32")
    assert not fits("atom", "add", "add", "u32")


def test_types_have_a_fixed_order() -> None:
    assert fits("cvt", "rn", "f32", "s32")
    assert not fits("cvt", "f32", "rn", "s32")
    assert not fits("set", "eq", "f32", "u32", "and")


def test_every_form_is_well_formed() -> None:
    forms: list[Form] = [form for declared in FORMS.values() for form in declared]
    assert all(re.fullmatch(r"[a-z0-9_|]+(?:[{. ].*)?", form.text) for form in forms)
    assert all(re.fullmatch(r"[A-Za-z0-9_:]+", word) for form in forms for word in form.words)
