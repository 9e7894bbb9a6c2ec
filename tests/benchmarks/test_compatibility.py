"""The verdicts, the list of kernels and the page of `benchmarks.compatibility`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.compatibility import declared as _  # noqa: F401
from benchmarks.compatibility.checking import check_launch
from benchmarks.compatibility.launches import Launch, Packed, Part, declarations, new, suite, uniform
from benchmarks.compatibility.listing import cell_of, list_kernels, suite_of
from benchmarks.compatibility.page import FIGURES, PAGE, Row, Rows, page, summary
from gpulab.errors import UsageError

TWICE = "__global__ void twice(float* y, const float* x, int n) {\n  int i = threadIdx.x;\n  BODY\n}\n"
RIGHT = "if (i < n) y[i] = 2 * x[i];"
RACE = "y[i] = 2 * x[i]; if (y[i ^ 1] > 9) y[i] = 0;"
X = uniform(32)
ODD = np.arange(32) % 2 == 1


def check(body: str, expected: object = 2 * X, tier: str = "plain", **fields: object) -> tuple[str, str]:
    launch = Launch(1, 32, [new(32), X, 32], {0: expected}, **fields)  # type: ignore[arg-type,dict-item]
    outcome = check_launch(TWICE.replace("BODY", body), "twice", launch, tier)
    return outcome.status, outcome.message


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        (RIGHT, "right", ""),
        ("y[i] = i == 3 ? 0 : 2 * x[i];", "wrong", "argument 1: 1 of 32 differ, the first at 3: 0.0"),
        (RIGHT + " ((float*) x)[5] = 7;", "wrong", "argument 2: changed"),
        ("y[i] = gone(x[i]);", "refused", 'identifier "gone" is undefined'),
        ("y[i + 1] = x[i];", "fault", "just past the end of y"),
        ("while (n) __nanosleep(1);", "fault", ""),
    ],
)
def test_outcome_of_a_launch(body: str, status: str, message: str) -> None:
    got, text = check(body)
    assert got == status
    assert message in text


@pytest.mark.parametrize(("tier", "status"), [("plain", "right"), ("sanitized", "alarm")])
def test_reports_of_the_sanitizer_are_alarms(tier: str, status: str) -> None:
    assert check(RACE, tier=tier)[0] == status


def test_true_reports_are_explained() -> None:
    outcome = check(RACE, tier="sanitized", true_alarms="Threads read y of others.")
    assert outcome == ("explained", "Threads read y of others.")


def test_masked_elements_may_have_any_value() -> None:
    body = "y[i] = i % 2 ? 0 : 2 * x[i];"
    assert check(body, np.ma.masked_array(2 * X, ODD))[0] == "right"
    assert check(body, np.ma.masked_array(2 * X, ~ODD))[0] == "wrong"


def test_errors_are_relative_to_the_largest_value() -> None:
    body = "y[i] = 2 * x[i] + 1e-3f;"
    assert [check(body, rtol=rtol)[0] for rtol in (1e-2, 1e-4)] == ["right", "wrong"]


def test_expected_values_may_be_a_function() -> None:
    assert [check(RIGHT, lambda y, last=last: y[31] == last)[0] for last in (2 * X[31], 0)] == [
        "right",
        "wrong",
    ]


def test_arrays_of_structs_and_parts_are_compared() -> None:
    source = "struct P { float* a; }; __global__ void k(P p, float* b) { b[0] = p.a[threadIdx.x] += 1; }"
    b = np.zeros(4, np.float32)
    args = [Packed(lambda addresses: np.array(addresses, np.int64).tobytes()), Part(b, 2)]
    for last, status in ((2, "right"), (3, "wrong")):
        expected = {1: np.array([X[0] + 1, 0]), 2: np.array([X[0] + 1, last])}
        launch = Launch(1, 1, args, expected, memory=[np.array([X[0], 2], np.float32)])
        assert check_launch(source, "k", launch, "plain").status == status


def test_kernel_is_declared_once() -> None:
    declare = suite("test", "folder/")
    try:
        declare("a.cu", "k")(lambda scale: check)
        assert ("test", "folder/a.cu", "k") in declarations
        with pytest.raises(ValueError, match="declared twice"):
            declare(["b.cu", "a.cu"], "k")(lambda scale: check)
    finally:
        for file in "ab":
            declarations.pop(("test", f"folder/{file}.cu", "k"), None)


def test_kernels_with_bodies_are_listed_and_extracted_from_programs(tmp_path: Path) -> None:
    folder = tmp_path / "dev" / "cuda"
    folder.mkdir(parents=True)
    (folder / "k.cuh").write_text(
        "__global__ void declared(real*);\n// __global__ void commented() {}\n"
        "__global__ void b(real* x) { *x = SIZE; }\ntemplate <int N> __global__ void a(real* x) { *x = N; }\n"
    )
    (folder / "main.cu").write_text('typedef float real;\n#define SIZE 3\n#include "k.cuh"\nint main() {}\n')
    assert suite_of(tmp_path).name == "llm.c"
    b, a = list_kernels(tmp_path)
    assert (b.key, b.is_template) == (("llm.c", "dev/cuda/k.cuh", "b"), False)
    assert (a.key, a.is_template) == (("llm.c", "dev/cuda/k.cuh", "a"), True)
    launch = Launch(1, 1, [new(1)], {0: np.float32([3])})
    assert check_launch(cell_of(tmp_path, b).source, "b", launch, "plain").status == "right"


def test_other_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        suite_of(tmp_path)


def test_outcomes_are_stored_and_read_again(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    assert not Rows.read(path).by_key
    rows = Rows()
    for name, status in (("a", "right"), ("b", "wrong"), ("a", "refused")):
        rows.add(Row("llm.c", "f.cu", name, "", status, "why"))
    rows.store(path)
    assert list(Rows.read(path)) == list(rows)
    assert [row.status for row in rows] == ["refused", "wrong"]
    assert list(rows.only([("llm.c", "f.cu", "b", "")])) == list(rows)[1:]


def test_summary_counts_the_launches_of_a_status() -> None:
    rows = Rows()
    for n, status in enumerate(
        ("right", "explained", "alarm", "not declared", "refused", "fault", "stopped", "wrong")
    ):
        rows.add(Row("rodinia", "f.cu", f"k{n}", "", status))
    assert summary(rows)[-2:] == [
        "| rodinia | 8 | 2 | 1 | 1 | 1 | 2 | 1 |",
        "| all | 8 | 2 | 1 | 1 | 1 | 2 | 1 |",
    ]


def test_page_has_the_stored_outcomes_of_all_declared_kernels() -> None:
    rows = Rows.read(FIGURES)
    assert PAGE.read_text(encoding="utf-8") == page(rows)
    assert not {row.key[:3] for row in rows if row.status == "not declared"} & declarations.keys()
    assert declarations.keys() <= {row.key[:3] for row in rows}


def test_setup_runs_first_in_the_module_of_the_kernel(tmp_path: Path) -> None:
    (tmp_path / "dev" / "cuda").mkdir(parents=True)
    text = "__device__ int n; __global__ void k(int* x) { *x = n; }\n"
    (tmp_path / "dev" / "cuda" / "k.cu").write_text(text, encoding="utf-8")
    (kernel,) = list_kernels(tmp_path)
    setup = "__global__ void setup(const int* x) { n = *x + 1; }"
    x = np.full(1, 6, np.int32)
    source = cell_of(tmp_path, kernel, setup).source
    for expected, status in ((7, "right"), (8, "wrong")):
        launch = Launch(1, 1, [x], {0: np.full(1, expected, np.int32)}, setup=setup, setup_args=[x])
        assert check_launch(source, "k", launch, "plain").status == status


def test_packed_variable_contains_pointers() -> None:
    source = "struct S { int* x; }; __constant__ S p; __global__ void k() { *p.x = 5; }"
    packed = Packed(lambda at: np.array(at, np.uint64))
    launch = Launch(
        1, 1, [], {0: np.full(1, 5, np.int32)}, variables={"p": packed}, memory=[np.zeros(1, np.int32)]
    )
    assert check_launch(source, "k", launch, "plain").status == "right"
