"""What is not understood is refused by name; how forms are written and read."""

from __future__ import annotations

import re

import numpy as np
import pytest

import gpulab
from gpulab.simt.codegen import native  # noqa: F401  # noqa: F401  (registers the instructions)
from gpulab.simt.codegen.instruction_forms import FORMS, Form
from tests.simt.ptx_harness import entry, launch


def refused(body: str) -> gpulab.UnsupportedInstruction:
    with pytest.raises(gpulab.UnsupportedInstruction) as caught:
        launch(entry(1, body), 1, 32, np.zeros(32, np.uint32))
    return caught.value


STRANGE = {
    "add.sat.u32 %r5, %r6, %r7;": "combination",
    "add.frz.f32 %f1, %f2, %f3;": "`.frz`",
    "mul.wide.u64 %rd5, %rd6, %rd7;": "combination",
    "fma.f32 %f1, %f2, %f3, %f4;": "combination",
    "fma.rn.oob.f16 %h1, %h2, %h3, %h4;": "`.oob`",
    "cvt.rs.f16x2.f32 %r5, %f1, %f2, %r6;": "`.rs`",
    "cvt.rn.satfinite.e2m1x2.f32 %h1, %f1, %f2;": "`.e2m1x2`",
    "ld.global.b128 %rd5, [%rd0];": "`.b128`",
    "ld.shared::cluster.u32 %r5, [%rd0];": "`.shared::cluster`",
    "atom.global.exch.b128 %rd5, [%rd0], %rd6;": "`.b128`",
    "atom.shared::cluster.add.u32 %r5, [%rd0], 1;": "`.shared::cluster`",
    "redux.sync.min.f32 %f1, %f2, -1;": "`.f32`",
    "cp.async.bulk.commit_group;": "`.bulk`",
    "barrier.cluster.arrive;": "`.cluster`",
    "fence.proxy.async;": "`.proxy`",
    "prmt.b32.f5e %r5, %r6, %r7, %r8;": "`.f5e`",
    "vadd.u32.u32.u32.sat %r5, %r6, %r7;": "combination",
    "min.xorsign.f32 %f1, %f2, %f3;": "combination",
    "st.async.shared::cluster.u32 [%rd0], %r5;": "`.async`",
}


@pytest.mark.parametrize("text", STRANGE)
def test_a_modifier_that_is_not_understood_is_named(text: str) -> None:
    error = refused(f"\t{text}")
    assert STRANGE[text] in str(error)
    assert error.instruction == text.partition(" ")[0].rstrip(";")


MMA = "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"
ELSEWHERE = {
    MMA + " {%f1, %f2, %f3, %f4}, {%r5, %r6, %r7, %r8}, {%r9, %r10}, {%f1, %f2, %f3, %f4};": "tensor cores",
    "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r5, %r6, %r7, %r8}, [%rd0], 16;": "tensor cores",
    "wgmma.fence.sync.aligned;": "tensor cores",
    "tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [texture, {%r5}];": "textures",
    "suld.b.1d.v2.b32.trap {%r5, %r6}, [surface, {%r7}];": "surfaces",
    "mapa.shared::cluster.u32 %r5, %r6, %r7;": "clusters",
    "multimem.ld_reduce.global.add.u32 %r5, [%rd0];": "GPUs",
    "vmad.s32.s32.s32 %r5, %r6, %r7, %r8;": "bytes",
    "vadd.s32.s32.s32 %r5, %r6.b1, %r7;": "parts of registers",
}


@pytest.mark.parametrize("text", ELSEWHERE)
def test_what_only_a_gpu_has_is_refused_with_a_reason(text: str) -> None:
    assert ELSEWHERE[text] in str(refused(f"\t{text}"))


def test_a_refusal_says_the_line() -> None:
    with pytest.raises(gpulab.UnsupportedInstruction, match="line 3"):
        gpulab.device("sim").compile(
            '__global__ void k(unsigned* x)\n{\n    asm("vmad.u32.u32.u32 %0, %0, %0, %0;" : "+r"(x[0]));\n}'
        )((1, 1, 1), (32, 1, 1), [gpulab.device("sim").zeros(4, np.uint32)])


def test_code_that_no_thread_reaches_may_hold_anything() -> None:
    (got,) = launch(
        entry(1, "\tbra ON;\n\ttex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [t, {%r5}];\nON:"), 1, 32, np.ones(1)
    )
    assert got[0] == 1


# -- how forms are written -----------------------------------------------------------------------


def fits(op: str, *words: str) -> bool:
    return any(form.fits(words) for form in FORMS[op])


def test_optional_words_of_a_form_may_come_in_any_order() -> None:
    assert fits("atom", "global", "cta", "add", "u32")
    assert fits("atom", "add", "acquire", "sys", "u32")
    assert fits("atom", "relaxed", "gpu", "global", "add", "u32")
    assert not fits("atom", "add", "add", "u32")


def test_types_of_a_form_keep_their_order() -> None:
    assert fits("cvt", "rn", "f32", "s32")
    assert not fits("cvt", "f32", "rn", "s32")
    assert not fits("set", "eq", "f32", "u32", "and")


def test_every_form_is_made_of_words_that_can_be_read() -> None:
    forms: list[Form] = [form for found in FORMS.values() for form in found]
    assert all(re.fullmatch(r"[a-z0-9_|]+(?:[{. ].*)?", form.text) for form in forms)
    assert all(re.fullmatch(r"[A-Za-z0-9_:]+", word) for form in forms for word in form.words)
