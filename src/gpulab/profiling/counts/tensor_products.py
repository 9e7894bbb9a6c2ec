"""Matrix products of tensor-core instructions: their type and size, of machine code and of PTX."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpulab.compiler.sass.sass_code import MachineInstruction
    from gpulab.simt.ptx.syntax import Instruction

__all__ = ["TensorProduct", "machine_product", "ptx_product"]

_SHAPE = re.compile(r"[HID]MMA\.(16|8)x?(8)x?(\d+)(?:\.|$)")  # `.16816`, `.884` or `.8x8x4`


@dataclass(frozen=True)
class TensorProduct:
    """The product of two matrices that one instruction of a warp computes.

    Attributes
    ----------
    kind : str
        One of `gpulab.gpus.limits.TENSOR_TYPES`.
    m, n, k : int
        The first matrix has m rows and k columns, the second k rows and n columns.
    """

    kind: str
    m: int
    n: int
    k: int

    @property
    def multiply_adds(self) -> int:
        return self.m * self.n * self.k

    @property
    def operations(self) -> int:
        """Operations of the instruction: 2 * m * n * k."""
        return 2 * self.multiply_adds


def machine_product(item: MachineInstruction) -> TensorProduct | None:
    """Return the product of an instruction such as `HMMA.16816.F32.BF16`; None for other instructions."""
    shape = _SHAPE.match(item.opcode)
    if not shape:
        return None
    modifiers = item.opcode.split(".")
    kind = {"IMMA": "int8", "DMMA": "fp64"}.get(item.op)
    if kind is None:
        factors = next((name for name in ("TF32", "BF16") if name in modifiers), "FP16").lower()
        sums = "fp32" if factors != "fp16" or "F32" in modifiers else "fp16"
        kind = f"{factors}_dst_{sums}"
    return TensorProduct(kind, int(shape[1]), int(shape[2]), int(shape[3]))


def ptx_product(item: Instruction) -> TensorProduct | None:
    """Return the product of an `mma` or `wmma.mma` instruction; None for other instructions."""
    from gpulab.simt.instructions.matrix_fragments import Shape

    if item.op != "mma" and item.parts[:2] != ("wmma", "mma"):
        return None
    shape = Shape.of(item)
    kinds = {
        "tf32": "tf32_dst_fp32", "bf16": "bf16_dst_fp32", "f64": "fp64", "s32": "int8", "f32": "fp16_dst_fp32"
    }  # fmt: skip
    kind = next((kind for name, kind in kinds.items() if name in item.parts), "fp16_dst_fp16")
    return TensorProduct(kind, shape.m, shape.n, shape.k)
