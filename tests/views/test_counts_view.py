"""The heat view: structure, escaped text, figures, and colours of the theme."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise

import pytest

import gpulab
from gpulab.cell import parse_cell
from gpulab.profiling.counts.cell_counts import count_cell
from gpulab.verification.check import compile_cell
from gpulab.views.counts_view import _DRAWN, counts_view, drawings_view, heat_text
from gpulab.views.heat import STEPS, amount, level
from gpulab.views.theme import _HEAT, DARK, LIGHT, STYLE
from gpulab.views.warp_view import warp_view
from tests.views.test_html import contrast

# Adjacent threads access adjacent columns, and a store to shared memory has bank conflicts.
TEXT = """%%cuda matmul.Ks --block 1 32
// <script>alert("line 2")</script> & more
extern "C" __global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    __shared__ float tile[32 * 33];
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    tile[32 * threadIdx.y] = j;
    __syncthreads();
    float sum = tile[32 * threadIdx.y] - j; // a "comment" that <b>looks</b> like HTML
    for (int k = 0; k < p; ++k) sum += b[i + n * k] * c[k + p * j];
    if (i < n && j < m) a[i + n * j] = sum;
}
"""


@pytest.fixture(scope="module")
def counts():
    device = gpulab.device("sim:h200")
    cell = parse_cell(TEXT)
    return count_cell(cell, compile_cell(cell, device)).report


@pytest.fixture(scope="module")
def html(counts):
    return counts_view(counts).html


class Nesting(HTMLParser):
    """Collects elements that are closed in the wrong place or not at all."""

    def __init__(self):
        super().__init__()
        self.open, self.wrong = [], []

    def handle_starttag(self, tag, attrs):
        if tag != "br":
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs): ...

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append((self.getpos(), tag))


def test_html_elements_are_nested(html):
    nesting = Nesting()
    nesting.feed(html)
    assert nesting.wrong == nesting.open == []


def test_source_is_escaped(html):
    assert "<script" not in html
    assert "<b>looks" not in html
    assert "&lt;script&gt;alert(&quot;line 2&quot;)" in html


def test_html_has_neither_scripts_nor_identifiers(html):
    assert not re.search(r"<script|\sid=|\son\w+=|https?://(?!www\.w3\.org/2000/svg)", html)


def test_every_line_has_its_number(counts, html):
    numbers = [int(n) for n in re.findall(r'<span class="gp-no">(\d+)</span>', html)]
    assert numbers == [line.number for line in counts.lines] == list(range(2, 13))


def test_lines_that_access_memory_have_drawings(counts, html):
    assert html.count('<details class="gp-line-of"') == sum(bool(line.accesses) for line in counts.lines)
    assert html.count('<svg class="gp-warp"') == sum(len(line.accesses) for line in counts.lines)
    assert html.count('<details class="gp-line-of" open>') == 1


def test_number_of_drawings_is_limited():
    """The first access of each line is drawn, then those with the most excess; others have text only."""
    many = "\n".join(
        f"    tile[threadIdx.x + {n}] = b[threadIdx.x + {n} * n] + c[threadIdx.x * {n % 3 + 1}];"
        for n in range(40)
    )
    text = TEXT.replace("    tile[32 * threadIdx.y] = j;", many)
    device, cell = gpulab.device("sim:h200"), parse_cell(text)
    found = count_cell(cell, compile_cell(cell, device)).report
    shown = counts_view(found).html
    assert sum(len(line.accesses) for line in found.lines) > 60
    assert shown.count('<svg class="gp-warp"') == _DRAWN
    assert shown.count("Not drawn") == sum(len(line.accesses) for line in found.lines) - _DRAWN
    assert len(shown) < 200_000


def test_figure_has_its_heat_step(html):
    row = re.search(r'<summary class="gp-row">(?:(?!</summary>).)*a\[i \+ n \* j\]', html)
    assert row is not None
    assert re.search(r'<i class="gp-heat-4" title="[^"]*">32\.0<', row[0])


def test_column_without_a_figure_in_any_line_is_left_out(counts, html):
    lines = tuple(replace(line, wavefronts=None) for line in counts.lines)
    shown = counts_view(replace(counts, lines=lines))
    assert "conflicts" in html.split('class="gp-drawings"')[0]
    assert "conflicts" not in shown.html.split('class="gp-drawings"')[0]
    assert shown.text.count("conflicts") == 0
    assert shown.html.count("<i") == html.count("<i") - 1 - len(lines)


def test_every_figure_has_its_provenance(html):
    figures = re.findall(r"<i([^>]*)>[^<]", html.split('class="gp-row gp-head"')[1].split("</div>", 1)[1])
    assert figures
    assert all(re.search(r'title="[^"]*; counted"', figure) for figure in figures)
    assert "Counted by the simulator (H200) on 64x64x64: exact." in html


@pytest.mark.parametrize(
    ("operations", "shown"),
    [
        ({}, " floating-point operations; at least"),
        (
            {"tf32_dst_fp32": 2048},
            " floating-point operations (by tensor cores: 2,048 tf32 to fp32); at least",
        ),
        ({"int8": 4096}, " floating-point operations; 4,096 int8 operations by tensor cores; at least"),
    ],
)
def test_operations_of_tensor_cores_are_shown_by_type(counts, operations, shown):
    counters = replace(counts.counters, tensor_operations=operations)
    assert shown in counts_view(replace(counts, counters=counters)).text


def test_lanes_with_a_constant_stride_share_a_title(html):
    assert "<title>lane 0: a[0], lane 1: a[64], … lane 31: a[1984]</title>" in html
    assert "<title>word 992 of tile: lane 31</title>" in html
    assert "<title>lane 3: tile" not in html


def test_lanes_without_a_constant_stride_have_their_own_titles(counts):
    line = next(line for line in counts.lines if "a[i + n * j]" in line.text)
    (group,) = line.accesses
    lanes = list(group.worst.lanes)
    lanes[3], lanes[4] = lanes[4], lanes[3]
    shown = warp_view(replace(group.worst, lanes=tuple(lanes))).html
    assert "<title>lane 3: a[256]</title>" in shown
    assert "<title>lane 31: a[1984]</title>" in shown


def test_plain_text_has_the_same_figures(counts):
    text = counts_view(counts).text
    (line,) = [line for line in text.splitlines() if "a[i + n * j] = sum" in line]
    assert line.split()[:2] == ["11", "32.0"]
    heat = next(pieces for pieces in heat_text(counts) if "a[i + n * j]" in pieces[-1][0])
    assert [step for _, step in heat].count(4) == 1


def test_drawing_in_characters_names_banks_with_conflicts(counts):
    line = next(line for line in counts.lines if line.number == 7)
    assert "bank  0  ################################  32 words for lanes 0-31" in drawings_view(line).text


@pytest.mark.parametrize(("excess", "step"), [(1, 0), (1.04, 0), (1.25, 1), (2, 2), (4, 3), (8, 4), (32, 4)])
def test_heat_step_follows_the_excess(excess, step):
    assert level(excess) == step < STEPS


def test_small_amount_is_not_shown_as_zero():
    assert [amount(n) for n in (0, 0.01, 0.05, 4, 15.65)] == ["0.0", "<0.1", "0.1", "4.0", "15.7"]


@pytest.mark.parametrize("which", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("step", range(1, STEPS))
def test_figures_are_readable_on_their_heat(which, step):
    assert contrast(_HEAT[f"heat-{step}"][which], _HEAT[f"heat-{step}-ink"][which]) >= 4.5


@pytest.mark.parametrize("which", [0, 1], ids=["light", "dark"])
def test_heat_steps_differ_in_lightness(which):
    colours = [_HEAT[f"heat-{step}"][which] for step in range(1, STEPS)]
    assert all(contrast(a, b) >= 1.3 for a, b in pairwise(colours))


def test_every_heat_colour_is_in_the_style_sheet(html):
    used = set(re.findall(r"gp-heat-\d", html))
    assert used
    for name in _HEAT:
        assert f"--gp-{name}:light-dark({LIGHT[name]},{DARK[name]})" in STYLE
    assert all(f".gpulab .{name}{{" in STYLE for name in used - {"gp-heat-0"})
