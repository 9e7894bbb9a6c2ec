"""Writing LLVM IR as text: types, literals, and a builder of function bodies."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass

from gpulab.simt.analysis.divergence import WARP

__all__ = ["BITS", "REGISTER_TYPES", "Builder", "Value", "float_literal", "like", "suffix", "vector"]

# LLVM type of a PTX register, by its PTX type.
REGISTER_TYPES = {
    "pred": "i1", "b8": "i8", "u8": "i8", "s8": "i8", "b16": "i16", "u16": "i16", "s16": "i16", "f16": "i16",
    "bf16": "i16", "b32": "i32", "u32": "i32", "s32": "i32", "f16x2": "i32", "bf16x2": "i32", "f32": "float",
    "b64": "i64", "u64": "i64", "s64": "i64", "f64": "double",
}  # fmt: skip

# Instructions whose result may differ if they are executed again, or that change memory.
_NOT_REPEATABLE = ("load", "call", "tail", "phi", "atomicrmw", "cmpxchg", "freeze", "alloca")

# Width of an LLVM type.
BITS = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "float": 32, "double": 64}


@dataclass(frozen=True)
class Value:
    """A value in one of the shapes of `lane_shapes`.

    Attributes
    ----------
    ty : str
        LLVM type of the value in one lane.
    kind : str
        "uniform", "affine" or "varying".
    refs : tuple of str
        Names or literals: one per row for an affine value, otherwise one.
    stride : int
        Difference between neighbouring lanes of an affine value.
    """

    ty: str
    kind: str
    refs: tuple[str, ...]
    stride: int = 0

    @property
    def ref(self) -> str:
        """The first of `refs`."""
        return self.refs[0]


def vector(ty: str, lanes: int = WARP) -> str:
    """Return a vector type."""
    return f"<{lanes} x {ty}>"


def like(ty: str, inner: str) -> str:
    """Return the type `ty`, a scalar or a vector, with elements of type `inner`."""
    return vector(inner, int(ty[1:].partition(" ")[0])) if ty.startswith("<") else inner


def suffix(ty: str) -> str:
    """Return the suffix of an intrinsic that is overloaded on a type: `f32`, `v32i64`, `v16p0`."""
    if ty.startswith("<"):
        lanes, _, inner = ty[1:-1].partition(" x ")
        return f"v{lanes}{suffix(inner)}"
    return {"half": "f16", "float": "f32", "double": "f64", "ptr": "p0"}.get(ty, ty)


def float_literal(bits: int, ty: str) -> str:
    """Return the literal with these IEEE bits; LLVM writes `float` literals as doubles, too."""
    if ty == "float":
        sign, exponent, fraction = bits >> 31, bits >> 23 & 0xFF, bits & 0x7FFFFF
        if exponent == 0xFF:
            bits = sign << 63 | 0x7FF << 52 | fraction << 29
        else:
            (value,) = struct.unpack("<f", struct.pack("<I", bits))
            (bits,) = struct.unpack("<Q", struct.pack("<d", value))
    return f"0x{bits:016X}"


class Builder:
    """Builder of a function body.

    Attributes
    ----------
    lines : list of str
        The body.
    entry : list of str
        Instructions for the start of the function, such as allocas.
    label : str
        Label of the current LLVM basic block.
    declared : set of str
        Declarations of functions that the body calls.
    functions : dict
        Definitions of helper functions that it calls, by name.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.entry: list[str] = []
        self.count = 0
        self.label = ""
        self.declared: set[str] = set()
        self.functions: dict[str, str] = {}
        self.known: dict[str, str] = {}  # results of instructions in the current LLVM basic block

    def name(self, hint: str = "t") -> str:
        """Return an unused name for a value."""
        self.count += 1
        return f"%{hint}{self.count}"

    def line(self, text: str) -> None:
        """Append an instruction without a result."""
        self.lines.append("  " + text)

    def value(self, text: str) -> str:
        """Append an instruction; return the name of its result.

        An instruction without side effects is not repeated in an LLVM basic block.
        """
        if (known := self.known.get(text)) is not None:
            return known
        name = self.name()
        self.lines.append(f"  {name} = {text}")
        if not text.startswith(_NOT_REPEATABLE):
            self.known[text] = name
        return name

    def alloca(self, ty: str, hint: str = "v", align: int = 64) -> str:
        """Allocate a stack slot; return its pointer."""
        name = self.name(hint)
        self.entry.append(f"  {name} = alloca {ty}, align {align}")
        return name

    def call(self, name: str, ty: str, *arguments: tuple[str, str]) -> str:
        """Append a call of an intrinsic or runtime function; return the name of its result."""
        self.declare(name, ty, [t for t, _ in arguments])
        actual = ", ".join(f"{t} {v}" for t, v in arguments)
        if ty == "void":
            self.line(f"call void @{name}({actual})")
            return ""
        return self.value(f"call {ty} @{name}({actual})")

    def declare(self, name: str, ty: str, arguments: list[str]) -> None:
        """Declare a function."""
        self.declared.add(f"declare {ty} @{name}({', '.join(arguments)})")

    def define(
        self,
        name: str,
        ty: str,
        arguments: list[tuple[str, str]],
        body: Callable[[Builder, list[str]], str],
    ) -> str:
        """Append a call of a helper function; return the name of its result.

        On first use of the name, the function is defined by `body`, as `add_function` does.
        """
        self.add_function(name, ty, [t for t, _ in arguments], body)
        call = f"call {ty} @{name}({', '.join(f'{t} {v}' for t, v in arguments)})"
        if ty == "void":
            self.line(call)
            return ""
        return self.value(call)

    def add_function(
        self, name: str, ty: str, parameters: list[str], body: Callable[[Builder, list[str]], str]
    ) -> None:
        """Define a helper function with parameters of these types, unless there is one with this name.

        `body` receives a builder and the names of the parameters and returns the name of the result, or "".
        """
        if name in self.functions:
            return
        self.functions[name] = ""
        inner = Builder()
        inner.declared, inner.functions, inner.label = self.declared, self.functions, "entry"
        names = [f"%x{number}" for number in range(len(parameters))]
        result = body(inner, names)
        formal = ", ".join(f"{t} {n}" for t, n in zip(parameters, names, strict=True))
        head = [f"\ndefine internal {ty} @{name}({formal}) noinline #1 {{", "entry:", *inner.entry]
        self.functions[name] = "\n".join([*head, *inner.lines, f"  ret {ty} {result}".rstrip(), "}"])

    # -- control flow ---------------------------------------------------------------------------

    def new_label(self, hint: str = "b") -> str:
        """Return an unused label."""
        self.count += 1
        return f"{hint}{self.count}"

    def open(self, label: str) -> None:
        """Start an LLVM basic block."""
        self.lines.append(f"{label}:")
        self.label = label
        self.known = {}

    def jump(self, label: str) -> None:
        """Append an unconditional branch."""
        self.line(f"br label %{label}")

    def branch(self, condition: str, yes: str, no: str, likely: bool | None = None) -> None:
        """Append a conditional branch, with a hint if the condition is likely or unlikely."""
        weights = "" if likely is None else ", !prof !0" if likely else ", !prof !1"
        self.line(f"br i1 {condition}, label %{yes}, label %{no}{weights}")

    def either(
        self, condition: str, yes: Callable[[], str], no: Callable[[], str], likely: bool | None = None
    ) -> str:
        """Append a branch whose sides each emit code that returns an i32; return that of the side taken."""
        holds, fails, done = self.new_label("holds"), self.new_label("fails"), self.new_label("done")
        self.branch(condition, holds, fails, likely)
        results = []
        for label, case in ((holds, yes), (fails, no)):
            self.open(label)
            result = case()
            results.append((result, self.label))
            self.jump(done)
        self.open(done)
        return self.phi("i32", *results)

    def phi(self, ty: str, *incoming: tuple[str, str]) -> str:
        """Append a phi of (value, label) pairs; return the name of its result."""
        return self.value(f"phi {ty} " + ", ".join(f"[ {v}, %{b} ]" for v, b in incoming))

    # -- vectors --------------------------------------------------------------------------------

    def splat(self, ty: str, ref: str, lanes: int = WARP) -> str:
        """Return a vector with the same value in all lanes."""
        if ref[0] != "%":
            return f"splat ({ty} {ref})"
        first = self.value(f"insertelement {vector(ty, lanes)} poison, {ty} {ref}, i64 0")
        return self.pick(ty, first, lanes, [0] * lanes)

    def concat(self, ty: str, parts: list[str], lanes: int) -> str:
        """Concatenate vectors of `lanes` elements; their number is a power of two."""
        while len(parts) > 1:
            pairs = zip(parts[::2], parts[1::2], strict=True)
            parts = [self.pick(ty, first, lanes, list(range(2 * lanes)), second) for first, second in pairs]
            lanes *= 2
        return parts[0]

    def pick(self, ty: str, ref: str, lanes: int, indices: list[int], second: str = "poison") -> str:
        """Return elements by constant index of one vector, or of two that are concatenated."""
        full, order = vector(ty, lanes), ", ".join(f"i32 {i}" for i in indices)
        return self.value(f"shufflevector {full} {ref}, {full} {second}, <{len(indices)} x i32> <{order}>")
