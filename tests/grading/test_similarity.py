"""Kernels compared without names and layout: disguises that are seen, and differences that remain."""

from __future__ import annotations

import pytest

from gpulab.grading.similarity import MIN_TOKENS, fingerprint, groups, normalized_tokens, same_kernel

KERNEL = """\
#define AT(i, j) ((i) + n * (j))
__global__ void product(float* a, const float* __restrict__ b, int n, int m)
{
    __shared__ float tile[BLOCK_Y][BLOCK_X + 1];   // one more against bank conflicts
    const int x = threadIdx.x, y = threadIdx.y;
    int i = blockIdx.x * BLOCK_X + x, j = blockIdx.y * BLOCK_Y + y;
    float sum = 0.0f;
    for (int k = 0; k < m; ++k) {
        tile[y][x] = b[AT(i, k)];
        __syncthreads();
        sum += sqrtf(tile[x][y]);
        __syncthreads();
    }
    for (int k = 0; k < 4; ++k)
        sum += k;
    if (i < n && j < m)
        a[AT(i, j)] = sum;
}
"""


def changed(old: str, new: str) -> str:
    assert old in KERNEL
    return KERNEL.replace(old, new)


SECOND_LOOP = """\
    for (int k = 0; k < 4; ++k)
        sum += k;
"""


@pytest.mark.parametrize(
    "disguise",
    [
        pytest.param(KERNEL.replace("sum", "total").replace("tile", "buffer"), id="variables"),
        pytest.param(KERNEL.replace("product", "kernel_of_mine"), id="function"),
        pytest.param(KERNEL.replace("\n    ", "\n\t\t/* a comment */\n"), id="comments and indentation"),
        pytest.param(changed(SECOND_LOOP, "for (int q = 0; q < 4; ++q) sum += q;"), id="loop variable"),
        pytest.param(changed("b[AT(i, k)]", "b[((i) + n * (k))]"), id="macro expanded by hand"),
        pytest.param("#define FIRST 0\n" + changed("k = 0; k < m", "k = FIRST; k < m"), id="number as macro"),
        pytest.param(KERNEL.replace("const ", "").replace("__restrict__ ", ""), id="qualifiers"),
        pytest.param(changed("BLOCK_X + x", "blockDim.x + x"), id="blockDim"),
        pytest.param(changed("void product", "void __launch_bounds__(256) product"), id="launch bounds"),
        pytest.param(changed("    float sum", "    #pragma unroll\n    float sum"), id="pragma"),
        pytest.param(changed("sum += sqrtf", "sum \\\n+= sqrtf"), id="line splice"),
    ],
)
def test_names_layout_and_macros_do_not_matter(disguise: str) -> None:
    assert same_kernel(KERNEL, disguise)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("sqrtf", "rsqrtf", id="library function"),
        pytest.param("tile[x][y]", "tile[y][x]", id="exchanged indices"),
        pytest.param("BLOCK_X + 1", "BLOCK_X", id="array size"),
        pytest.param("k < 4", "k < 5", id="constant"),
        pytest.param(
            "        sum += sqrtf(tile[x][y]);\n        __syncthreads();\n", "", id="missing statement"
        ),
        pytest.param("blockIdx.y * BLOCK_Y", "blockIdx.x * BLOCK_Y", id="component"),
        pytest.param("BLOCK_Y + y", "BLOCK_X + y", id="block macro"),
        pytest.param("float sum", "double sum", id="type"),
    ],
)
def test_other_differences_matter(old: str, new: str) -> None:
    assert not same_kernel(KERNEL, changed(old, new))


def test_shadowed_name_ends_with_its_block() -> None:
    inner_is_its_own = "__global__ void f(int* x) { int i = 1; { int i = 2; x[i] = 0; } x[i] = 1; }"
    renamed = "__global__ void f(int* x) { int i = 1; { int q = 2; x[q] = 0; } x[i] = 1; }"
    assert same_kernel(inner_is_its_own, renamed)


def test_member_of_an_own_type_may_be_renamed() -> None:
    text = "struct Pair {{ float {0}; int at; }}; __global__ void f(Pair* p) {{ p->{0} = 1; }}"
    assert same_kernel(text.format("value"), text.format("payload"))


def test_text_that_is_not_valid_has_a_fingerprint() -> None:
    assert fingerprint("__global__ /* open") == fingerprint("__global__  /* open\n")


def test_nested_macros_do_not_grow_without_bound() -> None:
    lines = ["#define A0 x x"] + [f"#define A{n} A{n - 1} A{n - 1}" for n in range(1, 60)]
    assert len(normalized_tokens("\n".join([*lines, "int x = A59;"]))) < 100


def test_copies_are_grouped() -> None:
    copies = {
        "ada": KERNEL,
        "bob": changed("k < 4", "k < 8"),
        "cyd": KERNEL.replace("sum", "s"),
        "dee": changed("k < 4", "k < 9"),
    }
    assert groups(copies) == [("ada", "cyd")]


def test_copy_of_a_known_text_is_not_reported() -> None:
    assert groups({"ada": KERNEL, "bob": KERNEL}, known=[KERNEL.replace("sum", "s")]) == []


def test_short_kernel_is_not_reported() -> None:
    short = "__global__ void scale(float a, float* x) { int i = threadIdx.x; x[i] *= a; }"
    assert len(normalized_tokens(short)) < MIN_TOKENS
    assert groups({"ada": short, "bob": short}) == []
