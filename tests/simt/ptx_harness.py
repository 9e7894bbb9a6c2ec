"""Run single PTX instructions over arrays, in every shape that the simulator treats differently.

    varying    each thread has its own operands, and every warp is full
    uniform    the operands are the same for a whole warp
    partial    varying, in blocks of 45 threads, so that the last warp is not full
    divergent  varying; odd and even lanes execute the instruction separately

A case is PTX text with `%o` for its result and `%a`, `%b`, … for its operands.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

import gpulab
from gpulab.devices.base import Device

__all__ = ["SHAPES", "Case", "bits_of", "entry", "everywhere", "launch", "program", "run", "simulator"]

Array = npt.NDArray[Any]
SHAPES = ("varying", "uniform", "partial", "divergent")
BLOCKS = {"varying": 64, "uniform": 32, "partial": 45, "divergent": 64}
HEAD = ".version 8.8\n.target sm_90\n.address_size 64\n"


@dataclass(frozen=True)
class Case:
    """One or more instructions, and the dtype of their result; "?" for a predicate."""

    text: str
    out: str


@cache
def simulator() -> Device:
    return gpulab.device("sim")


def _register(dtype: str) -> str:
    kind, size = np.dtype(dtype).kind, np.dtype(dtype).itemsize
    if kind == "b":
        return "pred"
    return f"f{8 * size}" if kind == "f" and size > 2 else f"b{max(8 * size, 16)}"


def _move(dtype: str) -> tuple[str, str]:
    """Return the PTX type of a load or store, and that of its register."""
    size = np.dtype(dtype).itemsize
    register = _register(dtype)
    return (f"u{8 * size}" if register[0] == "b" else register), register


def program(cases: Sequence[Case], inputs: Mapping[str, str], shape: str, guard: bool) -> str:
    """Return the PTX of a kernel `k(inputs…, results…, count)`; `inputs` maps names to dtypes."""
    names = [*inputs, *(f"r{n}" for n in range(len(cases)))]
    parameters = ",\n".join([*(f"\t.param .u64 p_{name}" for name in names), "\t.param .u32 count"])
    lines = [f".visible .entry k(\n{parameters}\n)", "{", "\t.reg .pred %out, %odd;"]
    lines += ["\t.reg .b32 %index, %limit, %lane, %step;", "\t.reg .b64 %wide, %address, %base;"]
    lines += [f"\t.reg .{_register(dtype)} %{name};" for name, dtype in inputs.items()]
    lines += [f"\t.reg .{_register(case.out)} %o{number};" for number, case in enumerate(cases)]
    lines += ["\tmov.u32 %index, %ctaid.x;", "\tmov.u32 %lane, %tid.x;"]
    if shape != "uniform":
        lines += ["\tmov.u32 %step, %ntid.x;", "\tmad.lo.s32 %index, %index, %step, %lane;"]
    if guard:
        lines += [
            "\tld.param.u32 %limit, [count];",
            "\tsetp.ge.u32 %out, %index, %limit;",
            "\t@%out bra DONE;",
        ]
    for name, dtype in inputs.items():
        access, _ = _move(dtype)
        lines += [*_address(name, dtype), f"\tld.global.{access} %{name}, [%address];"]
    for number, case in enumerate(cases):  # the result is defined even if no instruction writes it
        if case.out != "?":
            kind = _register(case.out)
            zero = {"f32": "0f00000000", "f64": "0d0000000000000000"}.get(kind, "0")
            lines.append(f"\tmov.{kind} %o{number}, {zero};")
        else:
            lines.append(f"\tsetp.ne.u32 %o{number}, %lane, %lane;")
    body = ["\t{ " + re.sub(r"%o\b", f"%o{number}", case.text) + " }" for number, case in enumerate(cases)]
    if shape == "divergent":
        lines += ["\tand.b32 %step, %lane, 1;", "\tsetp.eq.u32 %odd, %step, 1;", "\t@%odd bra ODD;"]
        lines += [*body, "\tbra JOIN;", "ODD:", *body, "JOIN:"]
    else:
        lines += body
    for number, case in enumerate(cases):
        out = case.out if case.out != "?" else "u4"
        value = f"%o{number}"
        if case.out == "?":
            lines.append(f"\tselp.b32 %step, 1, 0, {value};")
            value = "%step"
        lines += [*_address(f"r{number}", out), f"\tst.global.{_move(out)[0]} [%address], {value};"]
    return HEAD + "\n".join([*lines, "DONE:", "\tret;", "}"]) + "\n"


def _address(name: str, dtype: str) -> list[str]:
    size = np.dtype(dtype).itemsize
    return [
        f"\tld.param.u64 %base, [p_{name}];",
        "\tcvta.to.global.u64 %base, %base;",
        f"\tmul.wide.u32 %wide, %index, {size};",
        "\tadd.s64 %address, %base, %wide;",
    ]


def run(cases: Sequence[Case], inputs: Mapping[str, Array], shape: str = "varying") -> list[Array]:
    """Return the result of each case for each element of the inputs, which have the same length."""
    (length,) = {len(a) for a in inputs.values()}
    block = BLOCKS[shape]
    guard = shape == "partial"
    count = length
    arrays = {name: np.ascontiguousarray(a) for name, a in inputs.items()}
    if shape in ("varying", "divergent"):  # repeat the inputs so that all warps are full
        count = -(-length // block) * block
        arrays = {name: np.resize(a, count) for name, a in arrays.items()}
    text = program(cases, {name: a.dtype.str[1:] for name, a in arrays.items()}, shape, guard)
    device = simulator()
    kernel = device.load_ptx(text)
    results = [device.zeros(count, "u4" if case.out == "?" else case.out) for case in cases]
    grid = count if shape == "uniform" else -(-count // block)
    operands = [device.asarray(a) for a in arrays.values()]
    signature = kernel.program.signatures[kernel.name]  # type: ignore[attr-defined]
    values = [
        a if p.kind == "pointer" else a.allocation.address
        for p, a in zip(signature, [*operands, *results], strict=False)
    ]
    kernel((grid, 1, 1), (block, 1, 1), [*values, count])
    values = [device.asnumpy(r)[:length] for r in results]
    return [r.astype(bool) if case.out == "?" else r for case, r in zip(cases, values, strict=True)]


def bits_of(array: Array) -> Array:
    return array if array.dtype.kind == "b" else array.view(f"u{array.dtype.itemsize}")


def _nan(array: Array) -> Array:
    """Return a mask of the NaNs in an array; the manual does not define their bits for f32 and f64."""
    return np.isnan(array) if array.dtype.kind == "f" else np.zeros(len(array), bool)


def everywhere(
    cases: Sequence[Case], inputs: Mapping[str, Array], shapes: Sequence[str] = SHAPES[:2]
) -> list[Array]:
    """Return the results, after checking that they have the same bits in every shape.

    The code of an instruction differs between varying and uniform operands. The other shapes differ in how
    results are written, which is the same for all instructions, so that few tests need them.
    """
    results = run(cases, inputs, shapes[0])
    for shape in shapes[1:]:
        for case, first, other in zip(cases, results, run(cases, inputs, shape), strict=True):
            differs = np.flatnonzero((bits_of(first) != bits_of(other)) & ~(_nan(first) & _nan(other)))
            assert not len(differs), f"{case.text} ({shape}) differs at {differs[:5]}"
    return results


def entry(parameters: int, body: str, registers: str = "") -> str:
    """Return a kernel `k` with pointers in %rd0, %rd1, …, and the thread's index in the grid in %r0."""
    names = ",\n".join(f"\t.param .u64 p{n}" for n in range(parameters))
    loads = "".join(
        f"\tld.param.u64 %rd{n}, [p{n}];\n\tcvta.to.global.u64 %rd{n}, %rd{n};\n" for n in range(parameters)
    )
    return (
        f"{HEAD}.visible .entry k(\n{names}\n)\n{{\n"
        "\t.reg .pred %p<10>;\n\t.reg .b16 %h<20>;\n\t.reg .b32 %r<40>;\n\t.reg .b64 %rd<40>;\n"
        f"\t.reg .f32 %f<20>;\n\t.reg .f64 %d<20>;\n{registers}\n{loads}"
        "\tmov.u32 %r0, %ctaid.x;\n\tmov.u32 %r1, %ntid.x;\n\tmov.u32 %r2, %tid.x;\n"
        f"\tmad.lo.s32 %r0, %r0, %r1, %r2;\n{body}\n\tret;\n}}\n"
    )


def launch(text: str, grid: int, block: int, *arrays: Array, shared_mem: int = 0) -> list[Array]:
    """Run the kernel of a PTX text on copies of the arrays, and return the copies."""
    device = simulator()
    kernel = device.load_ptx(text)
    on_device = [device.asarray(a) for a in arrays]
    kernel((grid, 1, 1), (block, 1, 1), on_device, shared_mem)
    return [device.asnumpy(a) for a in on_device]
