"""Approximate functions on f32 (those of a GPU's special function units) as vectorized polynomials.

Each function is a separate LLVM function, so that scalars and vectors give the same bits. The coefficients
are minimax fits by the Remez algorithm. The limits are those of the manual (PTX ISA 9.1, sections 9.7.3.18 to
9.7.3.22):

            largest error over four million points       limit
    ex2     0.85 ulp                                     2 ulp
    lg2     2^-22.9 relative, also near 1                2^-22, absolute in (0.5, 2)
    sin     2^-23.3 absolute for |x| up to 100 pi        2^-20.5 to 2 pi, 2^-14.7 to 100 pi
    cos     2^-23.3 absolute for |x| up to 100 pi        as sin
    tanh    2^-22.1 relative                             2^-11

Sine and cosine have this error up to about |x| = 2^48. For larger arguments the values are only guaranteed
to be within [-1, 1].
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

from gpulab.simt.codegen.ir import Builder, float_literal, suffix
from gpulab.simt.instructions.arithmetic.elementwise import const

__all__ = ["FUNCTIONS"]

EX2 = (0.6931472, 0.2402265, 0.05550357, 0.009618031, 0.0013390867, 0.00015469735)
LG2 = (1.442695, -0.72134733, 0.4808979, -0.36069643, 0.28858528, -0.23963659, 0.20429602, -0.19061264,
       0.18782671, -0.11297489)  # fmt: skip
SIN = (-0.16666667, 0.008333329, -0.00019839335, 2.718308e-06)
COS = (0.041666646, -0.0013887368, 2.4438415e-05)
TANH = (-0.33333334, 0.13333334, -0.05396825, 0.02186949)


class _Floats:
    """Emitter of float operations on one type, scalar or vector."""

    def __init__(self, b: Builder, t: str) -> None:
        self.b, self.t = b, t
        self.it, self.flag = t.replace("float", "i32"), t.replace("float", "i1")
        self.dt, self.lt = t.replace("float", "double"), t.replace("float", "i64")

    def number(self, value: float) -> str:
        (bits,) = struct.unpack("<I", struct.pack("<f", value))
        return const(self.t, float_literal(bits, "float"))

    def op(self, text: str, x: str, y: str) -> str:
        return self.b.value(f"{text} {self.t} {x}, {y}")

    def iop(self, text: str, x: str, y: str | int) -> str:
        return self.b.value(f"{text} {self.it} {x}, {const(self.it, y) if isinstance(y, int) else y}")

    def fma(self, x: str, y: str, z: str) -> str:
        return self.b.call(f"llvm.fma.{suffix(self.t)}", self.t, (self.t, x), (self.t, y), (self.t, z))

    def call(self, name: str, *arguments: str) -> str:
        return self.b.call(f"llvm.{name}.{suffix(self.t)}", self.t, *((self.t, a) for a in arguments))

    def polynomial(self, x: str, coefficients: Sequence[float]) -> str:
        result = self.number(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            result = self.fma(result, x, self.number(coefficient))
        return result

    def select(self, condition: str, x: str, y: str) -> str:
        return self.b.value(f"select {self.flag} {condition}, {self.t} {x}, {self.t} {y}")

    def bits(self, x: str) -> str:
        return self.b.value(f"bitcast {self.t} {x} to {self.it}")

    def value(self, bits: str) -> str:
        return self.b.value(f"bitcast {self.it} {bits} to {self.t}")

    def power_of_two(self, exponent: str) -> str:
        return self.value(self.iop("shl", self.iop("add", exponent, 127), 23))


def _ex2(b: Builder, t: str, x: str) -> str:
    """Return 2^x: the nearest integer becomes the exponent, the remainder goes through a polynomial."""
    f = _Floats(b, t)
    inside = f.select(f.op("fcmp ogt", x, f.number(-160.0)), x, f.number(-160.0))
    inside = f.select(f.op("fcmp olt", inside, f.number(129.0)), inside, f.number(129.0))
    whole = f.call("roundeven", inside)
    rest = f.op("fsub", inside, whole)
    mantissa = f.fma(rest, f.polynomial(rest, EX2), f.number(1.0))
    exponent = b.value(f"fptosi {t} {whole} to {f.it}")
    half = f.iop("ashr", exponent, 1)  # in two steps, so that a subnormal result is rounded once
    result = f.op("fmul", mantissa, f.power_of_two(half))
    result = f.op("fmul", result, f.power_of_two(f.iop("sub", exponent, half)))
    return f.select(f.op("fcmp uno", x, x), x, result)


def _lg2(b: Builder, t: str, x: str) -> str:
    """Return log2 x = e + log2 m with m from sqrt(1/2) to sqrt(2)."""
    f = _Floats(b, t)
    small = f.op("fcmp olt", x, f.number(2.0**-126))
    scaled = f.select(small, f.op("fmul", x, f.number(2.0**23)), x)
    bits = f.bits(scaled)
    exponent = f.iop("ashr", f.iop("sub", bits, 0x3F3504F3), 23)
    rest = f.op("fsub", f.value(f.iop("sub", bits, f.iop("shl", exponent, 23))), f.number(1.0))
    whole = b.value(f"sitofp {f.it} {exponent} to {t}")
    whole = f.op("fsub", whole, f.select(small, f.number(23.0), f.number(0.0)))
    result = f.fma(rest, f.polynomial(rest, LG2), whole)
    finite = f.op("fcmp one", x, f.number(float("inf")))
    result = f.select(finite, result, x)  # infinity and NaN
    result = f.select(f.op("fcmp oeq", x, f.number(0.0)), f.number(float("-inf")), result)
    nan = const(t, float_literal(0x7FFFFFFF, "float"))
    return f.select(f.op("fcmp olt", x, f.number(0.0)), nan, result)


PER_QUARTER = 0x3FE45F306DC9C883  # 2 / pi, as a double
QUARTER = 0x3FF921FB54442D18, 0x3C91A62633145C07  # pi / 2, in two doubles
TO_WHOLE = 0x4338000000000000  # 1.5 * 2^52: adding it leaves an integer in the low bits


def _sine(b: Builder, t: str, x: str, turns: int) -> str:
    """Return sin(x + turns * pi / 2); the argument is reduced by multiples of pi / 2 in double precision."""
    f = _Floats(b, t)
    dt, lt = f.dt, f.lt

    def double(bits: int) -> str:
        return const(dt, float_literal(bits, "double"))

    positive = b.value(f"fpext {t} {f.call('fabs', x)} to {dt}")
    fma = f"llvm.fma.{suffix(dt)}"
    shifted = b.call(fma, dt, (dt, positive), (dt, double(PER_QUARTER)), (dt, double(TO_WHOLE)))
    whole = b.value(f"fsub {dt} {shifted}, {double(TO_WHOLE)}")
    less = b.value(f"fneg {dt} {whole}")
    rest = b.call(fma, dt, (dt, less), (dt, double(QUARTER[0])), (dt, positive))
    rest = b.call(fma, dt, (dt, less), (dt, double(QUARTER[1])), (dt, rest))
    r = b.value(f"fptrunc {dt} {rest} to {t}")
    # The remainder exceeds pi / 4 noticeably only for |x| > 2^50.
    r = f.select(f.op("fcmp ogt", r, f.number(1.0)), f.number(1.0), r)
    r = f.select(f.op("fcmp olt", r, f.number(-1.0)), f.number(-1.0), r)
    number = b.value(f"trunc {lt} {b.value(f'bitcast {dt} {shifted} to {lt}')} to {f.it}")
    quarter = f.iop("add", number, turns)
    square = f.op("fmul", r, r)
    sine = f.fma(f.op("fmul", r, square), f.polynomial(square, SIN), r)
    cosine = f.fma(square, f.number(-0.5), f.number(1.0))
    cosine = f.fma(f.op("fmul", square, square), f.polynomial(square, COS), cosine)
    odd = b.value(f"trunc {f.it} {quarter} to {f.flag}")
    result = f.bits(f.select(odd, cosine, sine))
    sign = f.iop("shl", f.iop("and", quarter, 2), 30)
    if turns == 0:  # sin(-x) = -sin x
        sign = f.iop("xor", sign, f.iop("and", f.bits(x), -(1 << 31)))
    return f.value(f.iop("xor", result, sign))


def _tanh(b: Builder, t: str, x: str) -> str:
    """Return (1 - e) / (1 + e) with e = exp(-2 |x|), or a polynomial near 0, with the sign of x."""
    f = _Floats(b, t)
    positive = f.call("fabs", x)
    e = ex2(b, t, f.op("fmul", positive, f.number(-2.8853900817779268)))
    one = f.number(1.0)
    far = f.op("fdiv", f.op("fsub", one, e), f.op("fadd", one, e))
    square = f.op("fmul", positive, positive)
    near = f.fma(f.op("fmul", positive, square), f.polynomial(square, TANH), positive)
    result = f.select(f.op("fcmp olt", positive, f.number(0.25)), near, far)
    return f.call("copysign", result, x)


def ex2(b: Builder, t: str, x: str) -> str:
    """Return 2^x."""
    return b.define(f"sim_ex2.{suffix(t)}", t, [(t, x)], lambda inner, names: _ex2(inner, t, names[0]))


def _function(name: str, body: Callable[[Builder, str, str], str]) -> Callable[[Builder, str, str], str]:
    def call(b: Builder, t: str, x: str) -> str:
        return b.define(f"sim_{name}.{suffix(t)}", t, [(t, x)], lambda inner, names: body(inner, t, names[0]))

    return call


FUNCTIONS: dict[str, Callable[[Builder, str, str], str]] = {
    "ex2": ex2,
    "lg2": _function("lg2", _lg2),
    "sin": _function("sin", lambda b, t, x: _sine(b, t, x, 0)),
    "cos": _function("cos", lambda b, t, x: _sine(b, t, x, 1)),
    "tanh": _function("tanh", _tanh),
}
