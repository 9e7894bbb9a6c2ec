"""Detection of the unchanged stub of a released kernel cell."""

from __future__ import annotations

import pytest

from gpulab.grading.release.stub import has_stub, is_untouched, kernel_stub

STUB = kernel_stub("stencil.opt_1")
INDENTED = "\n".join("    " + line for line in STUB.splitlines())
SIGNATURE = "__global__ void block2D_opt_1(float fac, const float* A0,\n    float* Anext, int nx)\n"
LOOP = "    for (int z = 1; z < nz - 1; ++z) {\n        // 2. Load.\n" + f"{INDENTED}\n\n{INDENTED}\n    }}"
CELL = f"\n// Changes from naive: a {{ tile }}.\n{SIGNATURE}{{\n{INDENTED}\n}}\n"
PARTLY_WRITTEN = CELL.replace(INDENTED, f"    // 1. The tile.\n{INDENTED}\n{LOOP}")


@pytest.mark.parametrize(
    "source",
    [
        PARTLY_WRITTEN,
        CELL,
        STUB,
        f"\n{STUB}\n",
        CELL.replace("// Changes", "/* a note */ // Changes"),
        CELL + "\n\n",
    ],
    ids=[
        "several stubs",
        "with its signature",
        "a whole cell",
        "empty lines",
        "another comment",
        "lines below",
    ],
)
def test_released_stub_is_untouched(source: str) -> None:
    assert is_untouched(source)


@pytest.mark.parametrize(
    "source",
    [
        CELL.replace("    // YOUR", "    int x = 1;\n    // YOUR"),
        PARTLY_WRITTEN.replace("// 2. Load.", "float sum = 0;"),
        CELL.replace("\n}\n", "\n    int x = 1;\n}\n"),
        f"{SIGNATURE}{{\n    // YOUR CODE HERE\n}}",
        f"{SIGNATURE}{{ }}",
        CELL + "__device__ int mine() { return 1; }",
        "#define A 1\n" + CELL,
        "",
    ],
    ids=[
        "code before",
        "code in the loop",
        "code after",
        "#error deleted",
        "all deleted",
        "a function",
        "a macro",
        "nothing",
    ],
)
def test_changed_cell_is_not_untouched(source: str) -> None:
    assert not is_untouched(source)


def test_partly_written_kernel_has_a_stub_until_all_parts_are_written() -> None:
    written = PARTLY_WRITTEN.replace(INDENTED, "    int x = 1;", 2)
    assert has_stub(written)
    assert not has_stub(written.replace(INDENTED, "    int y = 1;"))
