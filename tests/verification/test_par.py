"""Stars of a kernel: its counts next to the par of its step, in the check, the view and the table."""

from __future__ import annotations

from pathlib import Path

import pytest

import gpulab
from gpulab.cell import parse_cell
from gpulab.devices import open_device
from gpulab.problems import load_problems
from gpulab.verification.check import CheckResult, check_cell
from gpulab.verification.par import StarScore
from gpulab.views.cell_view import verdict_section
from tests.foreign_problems import write_problems
from tests.kernel_configs import run_in_session

COPY = """\
from gpulab.problems import Input, Output, Problem, Requirement, Step

copy = Problem(
    "copy",
    arguments=(Output("y", ("n",)), Input("x", ("n",)), "n"),
    sizes={"n": 65536},
    reference=lambda x: x,
    work=lambda n: max(n // 32, 1),
    steps=(
        Step(
            "unit",
            "neighbours read neighbours",
            par=(
                Requirement("global_load_requests", at_most=1, per="work"),
                Requirement("barriers", at_most=0),
            ),
        ),
        Step("free", "no par"),
    ),
)
"""
UNIT = """\
%%cuda copy.unit
__global__ void copy(float* y, const float* x, int n)
{
    int i = blockIdx.x * BLOCK_X + threadIdx.x;
    if (i < n) y[i] = x[i];
}"""
VOLATILE = "((volatile const float*) x)[i]"
TWICE = UNIT.replace("y[i] = x[i]", f"y[i] = ({VOLATILE} + {VOLATILE}) / 2")
THRICE = UNIT.replace("y[i] = x[i]", f"y[i] = {VOLATILE} + {VOLATILE} - {VOLATILE}")
VECTOR = """\
%%cuda copy.unit --tile 4
__global__ void copy(float* y, const float* x, int n)
{
    int i = 4 * (blockIdx.x * BLOCK_X + threadIdx.x);
    if (i + 3 < n) *(float4*) (y + i) = *(const float4*) (x + i);
    else for (; i < n; ++i) y[i] = x[i];
}"""


@pytest.fixture(autouse=True)
def declared(no_labs: None, tmp_path: Path) -> None:
    load_problems(write_problems(tmp_path, COPY))


def check(text: str) -> CheckResult:
    return check_cell(parse_cell(text), open_device("sim"), seed=1)


def score_of(text: str) -> StarScore:
    score = check(text).score
    assert score is not None
    return score


@pytest.mark.parametrize(("text", "stars"), [(UNIT, 3), (TWICE, 2), (THRICE, 1), (VECTOR, 3)])
def test_stars_follow_from_the_count_that_is_furthest_above_par(text: str, stars: int) -> None:
    assert score_of(text).stars == stars


def test_count_below_par_is_better_than_par() -> None:
    assert [score_of(text).beats_par for text in (UNIT, TWICE, VECTOR)] == [False, False, True]


def test_par_of_zero_is_exceeded_by_one_barrier() -> None:
    assert score_of(UNIT.replace("    if", "    __syncthreads();\n    if")).stars == 2
    assert score_of(UNIT.replace("    if", "    __syncthreads(), __syncthreads();\n    if")).stars == 1


def test_ratio_is_the_mean_of_the_counts_divided_by_par() -> None:
    assert score_of(TWICE).ratio == pytest.approx((2 + 1) / 2)


def test_wrong_kernel_has_no_score() -> None:
    assert check(UNIT.replace("i < n", "i < n - 1")).score is None


def test_step_without_par_has_no_score() -> None:
    assert check(UNIT.replace("unit", "free")).score is None


def test_score_is_the_same_at_every_size() -> None:
    cell = parse_cell(UNIT)
    result = check_cell(cell, open_device("sim:gtx280"), [(1000,)], seed=2)
    assert result.score is not None
    assert [each.value for each in result.score.results] == [1, 0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (UNIT, "★★★ copy.unit: at par"),
        (VECTOR, "★★★ copy.unit: better than par"),
        (TWICE, "★★☆ copy.unit: correct, above par"),
    ],
)
def test_verdict_shows_the_stars(text: str, expected: str) -> None:
    cell = parse_cell(text)
    assert expected in verdict_section(cell, check(text)).text


def test_json_has_the_score() -> None:
    data = check(TWICE).as_dict()["score"]
    assert data["stars"] == 2
    assert [count["par"] for count in data["counts"]] == [1, 0]


def test_score_table_has_a_row_for_each_step_with_a_par(
    empty_session: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPULAB_DEVICE", "sim")
    assert "0 of 3 stars" in gpulab.score_table().text
    run_in_session(TWICE)
    text = gpulab.score_table().text
    assert "2 of 3 stars" in text
    assert "copy.free" not in text


ATOMIC = UNIT.replace("y[i] = x[i]", "atomicExch(y + i, x[i])")
BULK = """\
%%cuda copy.unit --block 128
__global__ void copy(float* y, const float* x, int n)
{
    __shared__ __align__(16) float part[BLOCK_X];
    const int first = blockIdx.x * BLOCK_X;
    if (first + BLOCK_X > n) {
        for (int i = first + threadIdx.x; i < n; i += BLOCK_X) y[i] = x[i];
        return;
    }
    part[threadIdx.x] = x[first + threadIdx.x];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0)
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;\\n"
                     "cp.async.bulk.commit_group;\\n cp.async.bulk.wait_group 0;"
                     :: "l"(y + first), "r"((unsigned)__cvta_generic_to_shared(part)), "n"(4 * BLOCK_X)
                     : "memory");
}"""


@pytest.mark.parametrize("text", [UNIT, VECTOR, ATOMIC, BULK])
def test_sectors_are_those_of_every_access_that_stores(no_labs: None, tmp_path: Path, text: str) -> None:
    limits = 'Requirement("sectors_stored", at_most=4)'
    load_problems(write_problems(tmp_path, COPY.replace('Requirement("barriers", at_most=0)', limits)))
    assert score_of(text).results[1].value == 4


@pytest.mark.parametrize("machine", [False, True])
def test_votes_are_exchanges_and_barriers_of_a_warp_are_no_barriers(
    no_labs: None, tmp_path: Path, machine: bool
) -> None:
    exchanges = 'Requirement("lane_exchanges", at_most=2)'
    load_problems(
        write_problems(
            tmp_path, COPY.replace('Requirement("global_load', f'{exchanges}, Requirement("global_load')
        )
    )
    vote = """
    if (__any_sync(~0u, n < 0)) return;
    n += __shfl_sync(~0u, (int)threadIdx.x, 1) >> 10;
    __syncwarp();
    if"""
    result = check_cell(
        parse_cell(UNIT.replace("    if", vote)), open_device("sim"), seed=1, machine_counts=machine
    )
    assert result.score is not None
    assert [each.value for each in result.score.results] == [2, 1, 0]
