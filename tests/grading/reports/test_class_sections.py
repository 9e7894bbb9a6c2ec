"""Sections of the class report: findings, incidents, equal kernels, delays, leaderboard, distributions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("nbgrader", reason="grading needs the lab extra")
from bs4 import BeautifulSoup

import gpulab
from gpulab.grading.judge.records import Incident, JudgedSubmission, KernelInspection
from gpulab.grading.reports.assignment_report import AssignmentReport
from gpulab.grading.reports.class_sections import equal_kernels
from gpulab.grading.reports.class_table import delay_text
from gpulab.grading.reports.common_findings import common_findings
from gpulab.grading.reports.distribution import share_bins, step_figures
from gpulab.grading.reports.html_report import report_html
from gpulab.grading.reports.incidents import incidents
from gpulab.grading.reports.leaderboard import leaderboard
from gpulab.grading.reports.speedups import speedup_matrix
from gpulab.grading.reports.star_board import star_board
from gpulab.profiling.benchmark import Benchmark
from gpulab.profiling.speedup import VariantTiming
from gpulab.provenance import Provenance
from tests.grading.reports.invented_class import invented_class, judged, kernel_text, student_name
from tests.kernel_configs import config


@pytest.fixture(scope="module")
def report() -> AssignmentReport:
    return invented_class()


def with_inspection(report: AssignmentReport, inspection: JudgedSubmission) -> AssignmentReport:
    return replace(report, inspections={**report.inspections, inspection.student: inspection})


def test_findings_that_differ_in_numbers_are_one(report: AssignmentReport) -> None:
    counts = {finding.kernel: len(finding.students) for finding in reversed(common_findings(report))}
    assert counts["stencil.opt_1"] == 10


def test_finding_counts_once_per_student(report: AssignmentReport) -> None:
    for finding in common_findings(report):
        assert len(set(finding.students)) == len(finding.students)


@pytest.mark.parametrize("size", ["n = 523", "65x47x9", "261x4, label"])
def test_size_is_no_part_of_a_finding(report: AssignmentReport, size: str) -> None:
    reason = f"{size}: line 5: thread (1,0) of block (0,0) writes y[523]: just past the end of y."
    kernel = KernelInspection("stencil.opt_3", "wrong", (reason,))
    findings = common_findings(with_inspection(report, judged(student_name(0), kernels=[kernel])))
    assert [f.sentence[:7] for f in findings if "y[523]" in f.sentence] == ["line 5:"]


def test_report_says_how_many_findings_it_leaves_out(report: AssignmentReport) -> None:
    shown = len(common_findings(report))
    kernels = [KernelInspection(f"sort.step_{n}", "wrong", (f"reason {n}",)) for n in "abcdefghijklmn"]
    more = with_inspection(report, judged(student_name(29), kernels=kernels))
    assert f"{shown + 14 - 12} more findings are not in this table" in report_html([more])
    assert "more findings are not in this table" not in report_html([report])


def test_wrong_values_are_grouped_by_their_hint(report: AssignmentReport) -> None:
    assert [f for f in common_findings(report) if "halo" in f.sentence and "19845" not in f.sentence]


@pytest.mark.parametrize(
    ("number", "kind"),
    [(4, "hung"), (9, "crashed"), (14, "flooded"), (19, "claims differ"), (29, "not graded"), (1, "hung")],
)
def test_incident_has_a_kind(report: AssignmentReport, number: int, kind: str) -> None:
    assert [incident.kind for incident in incidents(report, student_name(number))] == [kind]


@pytest.mark.parametrize(
    ("condition", "independent"),
    [("x[0] == 0", True), ("x[0] != threadIdx.x", False)],
    ids=["endless", "deadlock"],
)
def test_message_of_the_simulator_about_an_endless_loop_is_an_incident(
    report: AssignmentReport, condition: str, independent: bool
) -> None:
    device = gpulab.device("sim")
    text = f"__global__ void k(volatile int* x) {{ while ({condition}) {{ }} x[0] = x[0] + 1; }}"
    kernel = device.compile(text, independent_threads=independent)
    (finding,) = gpulab.sanitize(kernel, 1, 32, (device.zeros(1, np.int32),), budget=1 << 16)
    kernels = (KernelInspection("stencil.opt_1", "wrong", (str(finding),)),)
    (incident,) = incidents(with_inspection(report, judged("ada", kernels=kernels)), "ada")
    assert (incident.kind, incident.cell) == ("hung", "stencil.opt_1")


def test_kernels_that_differ_in_names_are_a_group(report: AssignmentReport) -> None:
    assert equal_kernels(report) == [("stencil.opt_1", tuple(map(student_name, (2, 5, 11))))]


def test_text_of_the_lab_is_no_group(report: AssignmentReport) -> None:
    known = {"stencil.opt_1": [kernel_text("tile", 4)]}
    assert equal_kernels(replace(report, known_kernels=known)) == []


def test_given_kernels_are_no_group(report: AssignmentReport) -> None:
    given = KernelInspection("stencil.opt_3", "given", source=kernel_text("tile", 1))
    for number in (0, 1):
        report = with_inspection(report, judged(student_name(number), "", (given,)))
    assert [name for name, _ in equal_kernels(report)] == ["stencil.opt_1"]


def test_leaderboard_has_only_students_who_agreed(report: AssignmentReport) -> None:
    names = [place.name for place in leaderboard(report, "stencil.opt_4")]
    assert names == ["racer 0", "racer 10", "racer 20"]


def test_leaderboard_has_only_correct_kernels(report: AssignmentReport) -> None:
    first = report.inspections[student_name(0)]
    kernels = tuple(replace(kernel, state="wrong") for kernel in first.kernels)
    changed = with_inspection(report, replace(first, kernels=kernels))
    assert [place.name for place in leaderboard(changed, "stencil.opt_4")] == ["racer 10", "racer 20"]


def test_penalty_reduces_the_total(report: AssignmentReport) -> None:
    student = student_name(3)
    assert report.total(student) == report.grades.total(student) - 4


def test_total_is_never_negative(report: AssignmentReport) -> None:
    scores = {**report.grades.scores, student_name(3): dict.fromkeys(report.grades.max_scores, 0.0)}
    changed = replace(report, grades=replace(report.grades, scores=scores))
    assert changed.total(student_name(3)) == 0


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, ""), (61, "2 min"), (3600, "1 h"), (7201, "3 h"), (86400, "1 d")],
)
def test_delay_is_rounded_up(seconds: float, text: str) -> None:
    assert delay_text(seconds) == text


def test_full_score_is_in_the_last_bin() -> None:
    assert share_bins([0, 0.5, 1, 1], bins=2) == [1, 3]


def test_given_kernel_does_not_count_in_the_distribution(report: AssignmentReport) -> None:
    (figures,) = (figures for figures in step_figures(report) if figures.cell == "opt_1_test")
    assert len(figures.shares) == 28  # one of 30 is not graded, and one is at level 2


def test_drawings_have_an_alternative_text(report: AssignmentReport) -> None:
    drawings = BeautifulSoup(report_html([report]), "html.parser").find_all("svg")
    assert drawings
    assert all(svg.get("aria-label") or svg.get("aria-hidden") == "true" for svg in drawings)


def test_names_and_incidents_are_escaped(report: AssignmentReport) -> None:
    markup = "<img src=x onerror=alert(1)>"
    first = report.inspections[student_name(0)]
    hostile = replace(
        first, leaderboard=markup, incidents=(Incident("hung", markup, f"{markup} did not end"),)
    )
    page = BeautifulSoup(report_html([with_inspection(report, hostile)]), "html.parser")
    assert page.find_all("img") == []
    assert page.text.count(markup) >= 3


def scored(name: str, stars: int, ratio: float, *, beats_par: bool = False) -> KernelInspection:
    score = {"stars": stars, "ratio": ratio, "beats_par": beats_par, "counts": []}
    return KernelInspection(name, "right", score=score)


def test_star_board_ranks_stars_then_counts_of_students_who_agreed(report: AssignmentReport) -> None:
    kernels = {
        0: (scored("a.x", 3, 1.0), scored("b.x", 1, 2.5)),
        1: (scored("a.x", 3, 0.5, beats_par=True), scored("b.x", 3, 1.0)),
        10: (scored("a.x", 3, 1.0), scored("b.x", 1, 2.2)),
    }
    for number, inspected in kernels.items():
        first = report.inspections[student_name(number)]
        report = with_inspection(report, replace(first, kernels=inspected))
    assert [(place.name, place.stars, place.better) for place in star_board(report)] == [
        ("racer 10", 4, 0),
        ("racer 0", 4, 0),
    ]


def test_score_of_a_kernel_is_stored_with_the_verdict() -> None:
    kernel = scored("a.x", 2, 1.5)
    assert KernelInspection.from_dict(kernel.as_dict()).score == kernel.score


def test_speedups_of_several_problems_name_the_problem(report: AssignmentReport) -> None:
    assert speedup_matrix(report)[0] == ["opt_1", "opt_2", "opt_4"]

    source = Provenance("modelled", "H200", "calibrated")
    timings = [
        VariantTiming(config(f"matmul.{step}"), (64, 64, 64), Benchmark.from_samples([milliseconds], source))
        for step, milliseconds in (("Ks", 4.0), ("K1", 2.0))
    ]
    kernels = [KernelInspection(each.config.name, "right", timing=each) for each in timings]
    both = with_inspection(report, judged(student_name(0), kernels=kernels))
    columns, rows = speedup_matrix(both)
    assert columns == ["matmul.K1", *(f"stencil.{step}" for step in ("opt_1", "opt_2", "opt_4"))]
    assert next(row for row in rows if row[0] == student_name(0))[1] == "2.00 (Ks)"
