"""Distribution of matrices over the registers of a warp, for the tensor-core instructions.

The PTX manual defines the fragments of `mma` for each shape (section "Matrix Fragments for mma"). They
follow one rule. Lane 4 g + t belongs to group g and has position t in it. A register of 32 bits holds E
elements: 1 of tf32, f32 or s32, 2 of f16 or bf16, 4 of s8 or u8. One register of all lanes is a block:

    A   8 rows and 4 E columns:  element e is A[g, E t + e]
    B   4 E rows and 8 columns:  element e is B[E t + e, g]
    C   8 rows and 8 columns:    C[g, 2 t] and C[g, 2 t + 1], in one register for f16, otherwise in two

A matrix is a grid of blocks. The blocks of B are stored column by column. Those of A and C are stored in
pairs of rows: the two rows of one block column, then the next block column.

The manual leaves the fragments of `wmma` undefined. They are the same blocks in the same order. For
m16n16k16 and m16n16k8 this is what GPUs of compute capability 8.0 use (H. Ootomo, wmma_extension), so that a
kernel that reads `fragment.x[i]` finds the element that it finds there. A fragment of f16 has 16 elements in
all shapes; a smaller matrix is repeated in the remaining registers, as on GPUs.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpulab.simt.ptx.syntax import Instruction

__all__ = ["BITS", "Fragment", "Shape", "accessed_fragment", "fragment_of"]

# Width of an element, by PTX type. A tf32 is a 32-bit register whose low 13 bits are ignored.
BITS = {"f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "f64": 64, "s8": 8, "u8": 8, "s32": 32}
GROUPS = 8  # groups of four lanes


@dataclass(frozen=True)
class Shape:
    """The sizes of a product: A has m rows and k columns, B k rows and n columns."""

    m: int
    n: int
    k: int

    @classmethod
    def of(cls, item: Instruction) -> Shape:
        """Return the shape that an instruction names, such as `.m16n8k16`."""
        name = next(part for part in item.parts if part[0] == "m" and part[1:2].isdigit())
        m, rest = name[1:].split("n")
        n, k = rest.split("k")
        return cls(int(m), int(n), int(k))


@dataclass(frozen=True)
class Fragment:
    """The distribution of one matrix.

    Attributes
    ----------
    use : str
        "a", "b" or "c"; the result has the fragment of "c".
    ty : str
        PTX type of the elements.
    rows, columns : int
        Size of the matrix.
    copies : int
        Number of times that the matrix is repeated in the registers.
    """

    use: str
    ty: str
    rows: int
    columns: int
    copies: int = 1

    @property
    def per_register(self) -> int:
        """Elements of a register in one lane."""
        return max(32 // BITS[self.ty], 1)

    @property
    def register_type(self) -> str:
        """LLVM type of a register in one lane."""
        return {"f64": "double", "f32": "float"}.get(self.ty, "i32")

    @property
    def block_columns(self) -> int:
        """Columns of a block of A, or rows of a block of B."""
        return 4 * self.per_register

    @property
    def blocks(self) -> list[tuple[int, int]]:
        """First row and column of each block, in the order of the registers."""
        if self.use == "b":
            rows, columns = range(0, self.rows, self.block_columns), range(0, self.columns, GROUPS)
            return [(row, column) for column in columns for row in rows]
        width = GROUPS if self.use == "c" else self.block_columns
        rows, columns = range(0, self.rows, GROUPS), range(0, self.columns, width)
        pairs = [rows[at : at + 2] for at in range(0, len(rows), 2)]
        return [(row, column) for pair in pairs for column in columns for row in pair]

    @property
    def halves(self) -> int:
        """Registers of a block: two for a block of C whose elements have 32 bits or more."""
        return 2 if self.use == "c" and self.per_register == 1 else 1

    @property
    def distinct_registers(self) -> int:
        """Registers of one copy of the matrix."""
        return len(self.blocks) * self.halves

    @property
    def registers(self) -> int:
        """Registers of the fragment in one lane."""
        return self.distinct_registers * self.copies

    def element(self, register: int, lane: int, position: int) -> tuple[int, int]:
        """Return row and column of an element of a register."""
        row, column = self.blocks[register % self.distinct_registers // self.halves]
        group, thread = divmod(lane, 4)
        if self.use == "b":
            return row + self.per_register * thread + position, column + group
        if self.use == "a":
            return row + group, column + self.per_register * thread + position
        return row + group, column + 2 * thread + position + register % self.halves

    def accesses(self, layout: str) -> int:
        """Return the accesses of a lane to load or store one register, for a matrix in a layout.

        Elements that are neighbours in memory are one access. `layout` is "row" or "col".
        """
        return 1 if (layout == "row") == (self.use != "b") else self.per_register


def accessed_fragment(item: Instruction) -> tuple[Fragment, str, int]:
    """Return the fragment that a `wmma.load` or `wmma.store` accesses, its layout, and bytes of an access."""
    use = "c" if item.parts[1] == "store" else item.parts[2]
    layout = "row" if "row" in item.parts else "col"
    fragment = fragment_of(use, item.parts[-1], Shape.of(item), wmma=True)
    size = 8 if fragment.ty == "f64" else 4
    return fragment, layout, size // fragment.accesses(layout)


def fragment_of(use: str, ty: str, shape: Shape, *, wmma: bool) -> Fragment:
    """Return the fragment of a matrix of `mma`, or of `wmma`."""
    rows, columns = {"a": (shape.m, shape.k), "b": (shape.k, shape.n)}.get(use, (shape.m, shape.n))
    copies = 512 // (rows * columns) if wmma and ty == "f16" and use != "c" else 1
    return Fragment(use, ty, rows, columns, copies)
