"""Detection of the unchanged stub of a released kernel cell."""

from __future__ import annotations

import pytest

from gpulab.grading.release.stub import is_untouched, kernel_stub

STUB = kernel_stub("stencil.opt_1")
INDENTED = "\n".join("    " + line for line in STUB.splitlines())
SIGNATURE = "__global__ void block2D_opt_1(float fac, const float* A0,\n    float* Anext, int nx)\n"
CELL = f"\n// Changes from naive: a {{ tile }}.\n{SIGNATURE}{{\n{INDENTED}\n}}\n"


@pytest.mark.parametrize(
    "source",
    [CELL, STUB, f"\n{STUB}\n", CELL.replace("// Changes", "/* a note */ // Changes"), CELL + "\n\n"],
    ids=["with its signature", "a whole cell", "empty lines", "another comment", "lines below"],
)
def test_released_stub_is_untouched(source: str) -> None:
    assert is_untouched(source)


@pytest.mark.parametrize(
    "source",
    [
        CELL.replace("    // YOUR", "    int x = 1;\n    // YOUR"),
        CELL.replace("\n}\n", "\n    int x = 1;\n}\n"),
        f"{SIGNATURE}{{\n    // YOUR CODE HERE\n}}",
        f"{SIGNATURE}{{ }}",
        CELL + "__device__ int mine() { return 1; }",
        "#define A 1\n" + CELL,
        "",
    ],
    ids=["code before", "code after", "#error deleted", "all deleted", "a function", "a macro", "nothing"],
)
def test_changed_cell_is_not_untouched(source: str) -> None:
    assert not is_untouched(source)
