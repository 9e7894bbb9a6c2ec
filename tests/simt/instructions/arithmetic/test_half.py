"""Comparison of f16 and bf16 arithmetic with exact rational arithmetic, including the canonical NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from gpulab.simt.codegen.native import Specialization, lower
from tests.simt import exact
from tests.simt.instructions.arithmetic.test_floating import ordered
from tests.simt.patterns import FLOATS, combined, random_bits
from tests.simt.programs import simulator
from tests.simt.ptx_harness import Case, everywhere, run

Array = npt.NDArray[Any]
FORMATS = {"f16": exact.F16, "bf16": exact.BF16}


def operands(ty: str, count: int, each: int, seed: int = 0) -> dict[str, Array]:
    return dict(zip("abc", combined(FLOATS[ty], 16, count, each, seed), strict=False))


def check(cases: list[tuple[str, Callable[..., int]]], inputs: dict[str, Array]) -> None:
    """Run each case on single and on packed operands, whose upper halves are in reverse order."""
    result = everywhere([Case(text, "u2") for text, _ in cases], inputs)
    pairs = {name: a.astype(np.uint32) | a[::-1].astype(np.uint32) << 16 for name, a in inputs.items()}
    doubled = [Case(text.replace("f16 ", "f16x2 "), "u4") for text, _ in cases]
    both = everywhere(doubled, pairs)
    rows = list(zip(*([int(x) for x in a] for a in inputs.values()), strict=True))
    for (text, wanted), actual, pair in zip(cases, result, both, strict=True):
        for row, bits in zip(rows, actual, strict=True):
            expected = wanted(*row)
            assert int(bits) == expected, (text, [hex(x) for x in row], hex(bits), hex(expected))
        assert np.array_equal(pair & 0xFFFF, actual), text
        assert np.array_equal(pair >> 16, actual[::-1]), text


def without_negatives(form: exact.Format, bits: int) -> int:
    return bits if form.decode(bits)[1] == exact.NAN or not bits & form.sign_bit else 0


@pytest.mark.parametrize("ty", ["f16", "bf16"])
def test_sums_and_products_are_rounded_once(ty: str) -> None:
    form = FORMATS[ty]
    cases: list[tuple[str, Callable[..., int]]] = [
        (f"add.{ty} %o, %a, %b;", lambda a, b: exact.total(form, a, b)),
        (f"sub.rn.{ty} %o, %a, %b;", lambda a, b: exact.total(form, a, b ^ form.sign_bit)),
        (f"mul.{ty} %o, %a, %b;", lambda a, b: exact.product(form, a, b)),
    ]
    if ty == "f16":
        flush = form.flushed
        cases += [
            ("add.sat.f16 %o, %a, %b;", lambda a, b: form.clamped(exact.total(form, a, b))),
            ("mul.ftz.f16 %o, %a, %b;", lambda a, b: flush(exact.product(form, flush(a), flush(b)))),
            ("sub.ftz.sat.f16 %o, %a, %b;",
             lambda a, b: flush(form.clamped(exact.total(form, flush(a), flush(b ^ form.sign_bit))))),
        ]  # fmt: skip
    check(cases, operands(ty, 2, 900))


@pytest.mark.parametrize("ty", ["f16", "bf16"])
def test_fused_multiply_add_is_rounded_once(ty: str) -> None:
    form = FORMATS[ty]
    cases: list[tuple[str, Callable[..., int]]] = [
        (f"fma.rn.{ty} %o, %a, %b, %c;", lambda a, b, c: exact.fused(form, a, b, c)),
        (
            f"fma.rn.relu.{ty} %o, %a, %b, %c;",
            lambda a, b, c: without_negatives(form, exact.fused(form, a, b, c)),
        ),
    ]
    if ty == "f16":
        cases.append(
            ("fma.rn.sat.f16 %o, %a, %b, %c;", lambda a, b, c: form.clamped(exact.fused(form, a, b, c)))
        )
    check(cases, operands(ty, 3, 1500))


@pytest.mark.parametrize("ty", ["f16", "bf16"])
def test_fused_multiply_add_does_not_round_the_product(ty: str) -> None:
    """The products are midway between two numbers, and the sums slightly above or below."""
    form = FORMATS[ty]
    digits = 1 << form.fraction
    rows = []
    for left in range(digits, 2 * digits, max(1, digits // 64)):
        for right in range(digits, 2 * digits, max(1, digits // 16)):
            tail = left * right % (2 * digits)
            if tail in (digits, digits // 2) or left * right % digits == digits // 2:
                rows.append((left, right))
    one = form.bias << form.fraction
    a = np.array([one | left & (digits - 1) for left, _ in rows], np.uint16)
    b = np.array([one | right & (digits - 1) for _, right in rows], np.uint16)
    for c in (1, form.sign_bit | 1, 1 << form.fraction, form.sign_bit | 1 << form.fraction):
        inputs = {"a": a, "b": b, "c": np.full(len(a), c, np.uint16)}
        (actual,) = run([Case(f"fma.rn.{ty} %o, %a, %b, %c;", "u2")], inputs)
        assert [int(x) for x in actual] == [
            exact.fused(form, int(x), int(y), c) for x, y in zip(a, b, strict=True)
        ]


@pytest.mark.parametrize("ty", ["f16", "bf16"])
def test_order_and_sign(ty: str) -> None:
    form = FORMATS[ty]
    kinds = ["", "NaN.", "xorsign.abs.", "NaN.xorsign.abs."] + (["ftz.", "ftz.NaN."] if ty == "f16" else [])
    cases: list[tuple[str, Callable[..., int]]] = [
        (f"{op}.{kind}{ty} %o, %a, %b;",
         lambda a, b, op=op, kind=kind: ordered(form, op, tuple(kind.split(".")), (a, b)))
        for op in ("min", "max") for kind in kinds
    ]  # fmt: skip
    cases += [
        (f"neg.{ty} %o, %a;", lambda a, b: a ^ form.sign_bit),
        (f"abs.{ty} %o, %a;", lambda a, b: a & ~form.sign_bit),
    ]
    check(cases, operands(ty, 2, 900))


def relative_error(
    ty: str, op: str, function: Callable[[Array], Array], ftz: str = ""
) -> tuple[Array, Array, Array]:
    """Return (arguments, results, exact results) for every finite number of the format."""
    form = FORMATS[ty]
    bits = np.arange(1 << 16, dtype=np.uint32)
    bits = bits[(bits & form.infinity) != form.infinity].astype(np.uint16)
    (actual,) = run([Case(f"{op}.approx.{ftz}{ty} %o, %a;", "u2")], {"a": bits})

    def values(array: Array) -> Array:
        if ty == "f16":
            return array.view(np.float16).astype(np.float64)
        return (array.astype(np.uint32) << 16).view(np.float32).astype(np.float64)

    with np.errstate(over="ignore"):
        return values(bits), values(actual), function(values(bits))


@pytest.mark.parametrize(("ty", "bound"), [("f16", 2**-9.9), ("bf16", 2**-7)])
def test_error_of_ex2(ty: str, bound: float) -> None:
    """The limit is a relative error (PTX ISA, section 9.7.4.10)."""
    form = FORMATS[ty]
    _, actual, wanted = relative_error(ty, "ex2", np.exp2, "ftz." if ty == "bf16" else "")
    smallest = 2.0 ** (1 - form.bias)
    largest = float(exact.Fraction(2) ** (form.bias + 1)) * (1 - 2.0 ** -(form.fraction + 2))
    normal = (wanted >= smallest) & (wanted < largest)
    assert np.max(np.abs(actual[normal] / wanted[normal] - 1)) <= bound
    assert np.all(actual[wanted < smallest] <= smallest)
    assert np.all(np.isinf(actual[wanted > 1.01 * largest]))


@pytest.mark.parametrize(("ty", "bound"), [("f16", 2**-10.987), ("bf16", 2**-8)])
def test_error_of_tanh(ty: str, bound: float) -> None:
    """The limit is an absolute error (PTX ISA, section 9.7.4.9)."""
    _, actual, wanted = relative_error(ty, "tanh", np.tanh)
    assert np.max(np.abs(actual - wanted)) <= bound


@pytest.mark.parametrize("ty", ["f16", "bf16"])
def test_packed_functions_match_the_single_ones(ty: str) -> None:
    ftz = "ftz." if ty == "bf16" else ""
    inputs = {"a": random_bits(16, 500, 4)}
    cases = [f"ex2.approx.{ftz}{ty} %o, %a;", f"tanh.approx.{ty} %o, %a;"]
    singles = everywhere([Case(text, "u2") for text in cases], inputs)
    pairs = {"a": inputs["a"].astype(np.uint32) | inputs["a"][::-1].astype(np.uint32) << 16}
    both = everywhere([Case(text.replace("f16 ", "f16x2 "), "u4") for text in cases], pairs)
    for single, pair in zip(singles, both, strict=True):
        assert np.array_equal(pair & 0xFFFF, single)
        assert np.array_equal(pair >> 16, single[::-1])


@pytest.mark.parametrize("ty", ["half", "half2"])
def test_fused_multiply_adds_share_the_code_of_one(ty: str) -> None:
    """Products of matrices contain thousands of them."""
    steps = "".join(f"x = __hfma{ty[4:]}(x, a[{n}], x); " for n in range(200))
    body = f"{ty} x = a[threadIdx.x]; {steps}a[0] = x;"
    source = f"#include <cuda_fp16.h>\n__global__ void k({ty}* a) {{ {body} }}"
    kernel = simulator().compile(source)
    _, text = lower(kernel.module.ptx, kernel.entry, Specialization((64, 1, 1), 0))
    assert text.count("call <") >= 200
    assert text.count(" fmul <") == 1
