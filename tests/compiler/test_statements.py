"""Places of loops and returns in a source."""

from __future__ import annotations

from gpulab.compiler.statements import (
    Branch,
    Loop,
    end_inside,
    innermost_branch,
    innermost_loop,
    lines_between,
    loops,
    return_lines,
)

SOURCE = """__device__ int f(int x) { return x; }
__global__ void k(float* x, int n) {
    if (n < 0)
        return;  // return
    for (int k = 0; k < n; k++) {
        for (int j : {1, 2})
            x[j] += k;
        int m = 4;
        while (m > 0)
            if (m > 2) m -= 2; else m--;
    }
    do {
        n -= 1;
    } while (n > 0);
}
"""


def test_loops_have_their_lines_and_variables() -> None:
    assert loops(SOURCE) == [Loop(5, 11, "k"), Loop(6, 7, "j"), Loop(9, 10), Loop(12, 14)]


def test_innermost_loop_contains_all_lines() -> None:
    assert innermost_loop(SOURCE, 7) == Loop(6, 7, "j")
    assert innermost_loop(SOURCE, 7, 10) == Loop(5, 11, "k")
    assert innermost_loop(SOURCE, 4, 7) is None


def test_end_inside_a_loop_is_that_of_its_largest_statement() -> None:
    outer = Loop(5, 11, "k")
    assert [end_inside(SOURCE, line, outer) for line in (7, 8, 10)] == [7, 8, 10]
    assert end_inside(SOURCE, 6, outer) == 7


def test_lines_between_are_outside_branches_and_the_earlier_loops() -> None:
    assert lines_between(SOURCE, 4, 8) == (4, 8)
    assert lines_between(SOURCE, 6, 8) == (7, 8)
    assert lines_between(SOURCE, 7, 10) == (7, 10)
    assert lines_between(SOURCE, 1, 4) == (1, 3)


def test_innermost_branch_contains_the_line() -> None:
    assert innermost_branch(SOURCE, 4) == Branch(3, 4)
    assert innermost_branch(SOURCE, 10) == Branch(10, 10)
    assert innermost_branch(SOURCE, 8) is None


def test_returns_of_the_function_above_a_line() -> None:
    assert return_lines(SOURCE, 13) == [4]
    assert return_lines(SOURCE, 4) == []


def test_text_that_cannot_be_read_has_no_loops() -> None:
    assert loops("") == []
    assert return_lines("/* not closed", 3) == []
