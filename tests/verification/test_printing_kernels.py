"""`printf` and `assert` change no verdict, no requirement, no stars, and no line that is named."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

import gpulab
from gpulab.cell import KernelCell, parse_cell
from gpulab.grading.checks.counted_speed import cost_of
from gpulab.model.profile import profile_variant
from gpulab.problems import load_problems
from gpulab.verification.check import CheckResult, check_cell

PROBLEM = """\
from gpulab.problems import Input, Output, Problem, Requirement, Scalar, Step

bounds = {
    "global_loads": 1.05, "memory_accesses": 2.1, "load_requests": 0.04, "global_atomics": 0, "registers": 24,
}
exact = {"sectors_loaded": 0.125, "sectors_stored": 0.125, "memory_accesses": 2, "registers": 10}
printing = Problem(
    "printing",
    arguments=(Output("y", ("n",)), Input("x", ("n",)), Scalar("a", (1.5, 3.0)), "n"),
    sizes={"n": 1 << 16},
    reference=lambda a, x: a * x,
    error_bound=lambda a, x: 2.0**-23 * abs(a * x),
    steps=(
        Step(
            "map",
            "one element for each thread",
            requirements=tuple(Requirement(name, at_most=most) for name, most in bounds.items()),
            par=tuple(Requirement(name, at_most=most) for name, most in exact.items()),
        ),
    ),
)
"""
KERNEL = """\
%%cuda printing.map --block 128 --tile 1
{before}
__global__ void printing(float* y, const float* x, float a, int n)
{{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    {statement}
    y[i] = a * x[i];
}}"""


class Printing(NamedTuple):
    """A statement of a kernel, the declarations that it needs, and a part of what it prints."""

    statement: str
    before: str = ""
    text: str = ""


CASES = {
    "every thread": Printing(r'printf("at %d %f\n", i, x[i]);', text="at 0 "),
    "some threads": Printing(r'if (i < 3) printf("at %d %f\n", i, x[i]);', text="at 2 "),
    "an element of another thread": Printing(r'printf("%f\n", x[n - 1 - i]);', text="\n"),
    "a loop": Printing(r'for (int k = 0; k < 3 && i == 0; ++k) printf("k%d %f\n", k, x[k % n]);', text="k2 "),
    "a local array": Printing(
        r'float t[4]; for (int k = 0; k < 4; ++k) t[k] = x[(i + k) % n]; printf("%f\n", t[i % 4]);', text="\n"
    ),
    "std::printf": Printing(r'std::printf("at %d\n", i);', "#include <cstdio>", "at 0"),
    "a macro": Printing(
        r'DEBUG("at %d %f\n", i, x[i]);',
        "#define DEBUG(...) do { if (1) printf(__VA_ARGS__); } while (0)",
        "at 0",
    ),
    "a redefined printf": Printing(
        r'printf("%f\n", x[i]);', '#define printf(...) printf("mine: " __VA_ARGS__)', "mine: "
    ),
    "an undefined printf": Printing(r'printf("at %d %f\n", i, x[i]);', "#undef printf", "at 0"),
    "vprintf": Printing(
        r'float v[2]; *(double*)v = x[i]; vprintf("v%f\n", (const char*)v);',
        'extern "C" __device__ int vprintf(const char*, const char*);',
        "v",
    ),
    "a helper": Printing(
        "show(x, i);",
        r'__device__ void show(const float* x, int i) { if (i < 3) printf("at %d %f\n", i, x[i]); }',
        "at 2 ",
    ),
    "a helper that is not inlined": Printing(
        "show(x, i);",
        r'__device__ __noinline__ void show(const float* x, int i) { printf("at %d %f\n", i, x[i]); }',
        "at 2 ",
    ),
    "a template": Printing(
        "show<int>(x[i], i);",
        r'template <class T> __device__ void show(float x, T i) { printf("at %d %f\n", i, x); }',
        "at 2 ",
    ),
    "a function of this name": Printing("printf(x[i]);", "__device__ void printf(float) {}"),
    "an argument with a side effect": Printing(r'int k = i; printf("%d\n", k++); i = k - 1;', text="0\n"),
    "a loop whose step is an argument": Printing(
        r'for (int k = 0; k < 2;) printf("k%d %f\n", k++, x[i]);', text="k1 "
    ),
    "the result": Printing(r'if (printf("%f\n", x[i]) > 100) return;', text="\n"),
    "%s": Printing(r'printf("%s %f\n", "word", x[i]);', text="word "),
    "assert": Printing("assert(x[i] == x[i] && x[n - 1 - i] < 1e30f);", "#include <cassert>"),
}


@pytest.fixture(autouse=True)
def declared(no_labs: None, tmp_path: Path) -> None:
    file = tmp_path / "problem.py"
    file.write_text(PROBLEM)
    load_problems(file)


def cell_of(case: Printing) -> KernelCell:
    cell = parse_cell(KERNEL.format(before=case.before, statement=case.statement))
    assert isinstance(cell, KernelCell)
    return cell


def check(case: Printing) -> CheckResult:
    return check_cell(cell_of(case), gpulab.device("sim:h200"), seed=1, machine_counts=True)


@pytest.mark.parametrize("name", CASES)
def test_counts_and_stars_are_those_of_the_kernel_without_the_statement(name: str) -> None:
    plain, result = check(Printing("")), check(CASES[name])
    assert result.reasons == ()
    assert result.correct
    assert CASES[name].text in result.printed
    assert plain.technique is not None
    assert result.technique is not None
    assert [each.value for each in result.technique.results] == [
        each.value for each in plain.technique.results
    ]
    assert result.score is not None
    assert result.score.stars == 3
    assert plain.count is not None
    assert result.count is not None
    assert cost_of(result.count) == cost_of(plain.count)


def test_side_effects_of_arguments_remain_and_are_counted() -> None:
    result = check(Printing(r'printf("%d\n", atomicAdd(&calls, 1));', "__device__ int calls;", "0\n"))
    assert not result.correct
    assert result.technique is not None
    missed = {each.requirement.measure for each in result.technique.results if not each.satisfied}
    assert "global_atomics" in missed
    (atomics,) = (r for r in result.technique.results if r.requirement.measure == "global_atomics")
    assert atomics.lines == (7,)


def test_line_of_a_missed_requirement_is_not_that_of_printf() -> None:
    slow = (
        r"printf(\"%f %f\n\", x[i], x[0]); float t = 0; for (int k = 0; k < 4; ++k) t += x[(i + k * 32) % n];"
    )
    result = check(Printing(slow.replace('\\"', '"') + "\n    y[i] = t;"))
    assert not result.correct
    assert result.technique is not None
    loads = result.technique.results[0]
    assert not loads.satisfied
    plain = check(Printing(slow.replace('\\"', '"').partition(";")[2] + "\n    y[i] = t;"))
    assert plain.technique is not None
    assert (loads.value, loads.lines) == (plain.technique.results[0].value, plain.technique.results[0].lines)


def test_variables_of_the_module_have_their_values_in_the_counted_launch() -> None:
    device = gpulab.device("sim:h200")
    kernel = device.compile(
        "__device__ int times; __global__ void k(float* y) {"
        r'for (int i = 0; i < times; ++i) y[threadIdx.x] += i; printf("%d\n", times); }'
    )
    kernel.module.set_global("times", 3)
    y = device.zeros(32)
    kernel.silent(1, 32, (y,))
    assert kernel.silent.printed == ""
    assert device.asnumpy(y)[0] == 3


def test_modelled_time_is_that_of_the_kernel_without_printf() -> None:
    device = gpulab.device("sim:h200")
    times = []
    for name in ("every thread", None):
        cell = cell_of(CASES[name] if name else Printing(""))
        kernel = check_cell(cell, device, seed=1).kernel
        assert kernel is not None
        times.append(profile_variant(kernel, cell.config, device=device).time_ms)
    assert times[0] == times[1]
