"""Distribution of matrices over the registers of a warp, for the tensor-core instructions.

The PTX manual defines the fragments of `mma` for each shape (section "Matrix Fragments for mma"). They
follow one rule. Lane 4 g + t belongs to group g and has position t in it. A register of 32 bits holds E
elements: 1 of tf32, f32 or s32, 2 of f16 or bf16, 4 of s8 or u8. One register of all lanes is a block:

    A   8 rows and 4 E columns:  element e is A[g, E t + e]
    B   4 E rows and 8 columns:  element e is B[E t + e, g]
    C   8 rows and 8 columns:    C[g, 2 t] and C[g, 2 t + 1], in one register for f16, otherwise in two

A matrix is a grid of blocks. The blocks of B are stored column by column. Those of A and C are stored in
pairs of rows: the two rows of one block column, then the next block column.

The manual leaves the fragments of `wmma` undefined. They are the same blocks in the same order, except that
m8n32k16 is computed as the transposed product m32n8k16. For m16n16k16 and m16n16k8 this is what GPUs of
compute capability 8.0 use (H. Ootomo, wmma_extension), so that a kernel that reads `fragment.x[i]` finds the
element that it finds there. A fragment of f16 has 16 elements in all shapes; a smaller matrix is repeated in
the remaining registers, as on GPUs.

The accesses of a `wmma.load` or `wmma.store` are those of the machine code that ptxas 13.5 generates for
compute capability 9.0: one for each register, or for two registers with neighbouring elements. If the two
16-bit elements of a register are not neighbours in memory, a block is read by rows of memory and transposed
in registers (MOVM).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gpulab.simt.analysis.divergence import WARP
from gpulab.simt.ptx.syntax import Instruction

__all__ = [
    "BITS",
    "Fragment",
    "FragmentAccess",
    "Shape",
    "accessed_fragment",
    "fragment_of",
    "wmma_fragment_of",
]

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

    @property
    def is_transposed(self) -> bool:
        """True for a shape of `wmma` that is computed as the transposed product."""
        return self.m < 16 < self.n

    @property
    def transposed(self) -> Shape:
        """The shape of the transposed product."""
        return Shape(self.n, self.m, self.k)


@dataclass(frozen=True)
class FragmentAccess:
    """One access of all lanes for a `wmma.load` or `wmma.store`.

    Attributes
    ----------
    registers : tuple of int
        The registers, whose elements are neighbours in memory.
    part : int or None
        The element of the register; None for whole registers.
    places : tuple of (int, int)
        By lane, row and column of the first element.
    size : int
        Bytes per lane.
    transposed : bool
        The register has the transposed block.
    """

    registers: tuple[int, ...]
    part: int | None
    places: tuple[tuple[int, int], ...]
    size: int
    transposed: bool = False


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

    def accesses(self, layout: str) -> list[FragmentAccess]:
        """Return the accesses that load or store the fragment; `layout` of the matrix is "row" or "col"."""
        size = BITS[self.ty] // 8
        natural = (layout == "row") == (self.use != "b")
        found = []
        for number, block in enumerate(self.blocks):
            if natural or self.per_register == 1:
                step = self.halves if natural else 1
                for half in range(0, self.halves, step):
                    register = self.halves * number + half
                    bytes_each = size * self.per_register * step
                    places = self._places(block, half)
                    found.append(
                        FragmentAccess(tuple(range(register, register + step)), None, places, bytes_each)
                    )
            elif self.per_register == 2:
                places = self._places(block, 0, transposed=True)
                found.append(FragmentAccess((number,), None, places, 2 * size, transposed=True))
            else:
                found += [
                    FragmentAccess((number,), part, self._places(block, part), size)
                    for part in range(self.per_register)
                ]
        return found

    def _places(
        self, block: tuple[int, int], position: int, *, transposed: bool = False
    ) -> tuple[tuple[int, int], ...]:
        """Return row and column of an element of each lane; `transposed` for the transposed block."""
        across = 2 if self.use == "c" else self.per_register
        places = []
        for lane in range(WARP):
            group, thread = divmod(lane, 4)
            inside = group, across * thread + position
            row, column = inside if (self.use == "b") == transposed else inside[::-1]
            places.append((block[0] + row, block[1] + column))
        return tuple(places)


def fragment_of(use: str, ty: str, shape: Shape) -> Fragment:
    """Return the fragment of a matrix of `mma`."""
    rows, columns = {"a": (shape.m, shape.k), "b": (shape.k, shape.n)}.get(use, (shape.m, shape.n))
    return Fragment(use, ty, rows, columns)


def wmma_fragment_of(use: str, ty: str, shape: Shape) -> Fragment:
    """Return the fragment of a matrix of `wmma`; of the transposed matrix if the product is transposed."""
    if shape.is_transposed:
        use, shape = {"a": "b", "b": "a"}.get(use, use), shape.transposed
    fragment = fragment_of(use, ty, shape)
    if ty != "f16" or use == "c":
        return fragment
    return replace(fragment, copies=512 // (fragment.rows * fragment.columns))


def accessed_fragment(item: Instruction) -> tuple[Fragment, str]:
    """Return the fragment that a `wmma.load` or `wmma.store` accesses, and the layout of its matrix."""
    use = "c" if item.parts[1] == "store" else item.parts[2]
    shape = Shape.of(item)
    by_rows = ("row" in item.parts) != shape.is_transposed
    return wmma_fragment_of(use, item.parts[-1], shape), "row" if by_rows else "col"
