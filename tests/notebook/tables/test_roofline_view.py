"""`gpulab.roofline`: the plotly figure, what a notebook stores of it, its files, and the values."""

from __future__ import annotations

import copy
import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import pytest
from IPython.utils.capture import capture_output

import gpulab
from gpulab.errors import UsageError
from gpulab.notebook.tables.roofline_figure import RooflineFigure, roofline_figure
from gpulab.profiling.roofline import Roofline
from gpulab.views.roofline.roofline_layout import scene_of
from tests.kernel_configs import run_in_session
from tests.notebook.tables.roofline_cases import roofline_case

MATMUL = """%%cuda matmul.K1 --block 64
__global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y;
    float sum = 0.0f;
    for (int k = 0; k < p; ++k) sum += b[i + n * k] * c[k + p * j];
    a[i + n * j] = sum;
}
"""


def figure_of(count: int = 3, theme: str = "light", **case: Any) -> RooflineFigure:
    return roofline_figure(scene_of(roofline_case(count, **case), "512x512x512"), theme)


def traces(figure: RooflineFigure, group: str) -> list[Any]:
    return [trace for trace in figure.data if trace.legendgroup == group]


# -- the plotly figure ------------------------------------------------------------------------------


def test_figure_is_a_plain_plotly_figure_with_logarithmic_axes() -> None:
    figure = figure_of()
    assert isinstance(figure, go.Figure)
    assert not isinstance(figure, go.FigureWidget)
    assert (figure.layout.xaxis.type, figure.layout.yaxis.type) == ("log", "log")


def test_measured_ceilings_are_solid_and_published_ones_dashed() -> None:
    dashes = {trace.name: trace.line.dash for trace in traces(figure_of(), "ceilings")}
    assert len(dashes) == 8
    assert all((dash == "solid") == ("measured" in name) for name, dash in dashes.items())


def test_points_are_connected_in_the_order_of_the_versions() -> None:
    figure = figure_of(6)
    (line,) = (trace for trace in figure.data if trace.name == "versions")
    assert list(line.x) == pytest.approx([point.intensity for point in figure.roofline.points], rel=1e-4)
    assert list(line.y) == pytest.approx([point.gflops for point in figure.roofline.points], rel=1e-4)


def test_legend_and_plot_number_the_points_alike() -> None:
    figure = figure_of(12)
    names = [trace.name.split() for trace in traces(figure, "kernels")]
    assert names == [[str(n), p.variant] for n, p in enumerate(figure.roofline.points, 1)]
    assert {note.text for note in figure.layout.annotations} >= {number for number, _ in names}


@pytest.mark.parametrize(
    "figure", ["ms", "GB", "flops", "% of DRAM", "block 32x8x1", "occupancy 50 %", "modelled", "counted"]
)
def test_tooltip_of_a_point_has_figures_and_provenance(figure: str) -> None:
    assert figure in traces(figure_of(), "kernels")[0].hovertemplate


def test_axis_title_names_the_kind_of_bytes() -> None:
    assert "counted" in figure_of().layout.xaxis.title.text


def test_point_above_its_ceiling_has_another_symbol() -> None:
    kernels = traces(figure_of(3, above=1), "kernels")
    assert [trace.marker.symbol for trace in kernels] == ["circle", "x", "circle"]


# -- what a notebook stores -------------------------------------------------------------------------


def test_bundle_has_data_and_svg_but_no_script() -> None:
    bundle = figure_of(12)._repr_mimebundle_()
    assert set(bundle) == {"application/vnd.plotly.v1+json", "text/html", "text/plain"}
    assert len(json.dumps(bundle)) < 100_000
    assert "<svg" in bundle["text/html"]
    assert "<script" not in bundle["text/html"]


def test_bundle_loads_nothing_from_another_host() -> None:
    text = json.dumps(figure_of(12)._repr_mimebundle_())
    assert set(re.findall(r"https?://[\w.]+", text)) <= {"http://www.w3.org"}  # the namespace of SVG


def test_ipython_displays_the_bundle_after_its_style_sheet(notebook: Any) -> None:
    with capture_output() as captured:
        notebook.shell.display_formatter.format(figure_of())
    style, bundle = (output.data for output in captured.outputs)
    assert style["text/html"].startswith("<style")
    assert "<svg" in bundle["text/html"]
    assert "application/vnd.plotly.v1+json" in bundle


def test_static_picture_has_a_table_of_all_figures() -> None:
    text = figure_of().still.text
    assert all(word in text for word in ("naive", "opt_1", "opt_2", "% ", "ms", "DRAM"))


def test_copied_figure_can_be_saved(tmp_path: Path) -> None:
    assert copy.deepcopy(figure_of()).save(tmp_path / "copy.svg").stat().st_size > 1000


# -- files ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_save_writes_png_and_svg(tmp_path: Path, theme: str) -> None:
    figure = figure_of()
    assert figure.save(tmp_path / "x.png", theme).read_bytes()[:4] == b"\x89PNG"
    assert ET.parse(figure.save(tmp_path / "x.svg", theme)).getroot().tag.endswith("svg")


@pytest.mark.parametrize("name", ["x.pdf", "x"])
def test_save_refuses_other_suffixes(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match=name):
        figure_of().save(tmp_path / name)


def test_save_into_a_missing_folder_raises(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nowhere"):
        figure_of().save(tmp_path / "nowhere" / "x.svg")


def test_unknown_theme_raises() -> None:
    with pytest.raises(UsageError, match="sepia"):
        figure_of(theme="sepia")


# -- gpulab.roofline --------------------------------------------------------------------------------


def test_empty_session_gives_ceilings_and_the_baseline(empty_session: None) -> None:
    figure = gpulab.roofline("matmul")
    (point,) = figure.roofline.points
    assert point.variant == "K1 (baseline)"
    assert "ships with gpulab" in point.provenance.detail
    assert figure.roofline.ceilings
    assert any("matmul" in line for line in figure.still.text.splitlines())


def test_no_problem_gives_the_ceilings_alone(empty_session: None) -> None:
    figure = gpulab.roofline(None, "gtx280")
    assert not figure.roofline.points
    assert {c.level for c in figure.roofline.ceilings} == {"DRAM", "shared memory", "fp32"}
    assert "GTX 280" in figure.layout.title.text


def test_correct_kernel_is_drawn_with_its_modelled_time(empty_session: None) -> None:
    run_in_session(MATMUL)
    found: Roofline = gpulab.roofline("matmul", "gtx280", 256).roofline  # no baseline beside an own K1
    assert [point.variant for point in found.points] == ["K1"]
    assert found.points[0].provenance.kind == "modelled"
    assert {c.provenance.kind for c in found.ceilings} == {"published"}


def test_kernel_whose_arrays_stay_in_l2_is_left_out(empty_session: None) -> None:
    run_in_session(MATMUL)
    found = gpulab.roofline("matmul", size=64).roofline
    assert not found.points
    assert any("L2" in note for note in found.notes)


def test_compulsory_bytes_are_those_of_the_problem(empty_session: None) -> None:
    run_in_session(MATMUL)
    found = gpulab.roofline("matmul", "gtx280", 256, "compulsory").roofline
    assert found.gpu == "GeForce GTX 280"
    assert found.points[0].nbytes == 3 * 4 * 256 * 256


def test_wrong_kernel_is_left_out_with_a_note(empty_session: None) -> None:
    run_in_session(MATMUL.replace("sum +=", "sum -="))
    found = gpulab.roofline("matmul", size=256).roofline
    assert not found.points
    assert any("K1" in note for note in found.notes)


def test_kernels_left_out_for_the_same_reason_share_a_note(empty_session: None) -> None:
    for variant in ("K1", "K2", "K3"):
        text = MATMUL.replace("matmul.K1", f"matmul.{variant}").replace("sum +=", "sum -=")
        run_in_session(text)
    (note,) = gpulab.roofline("matmul", size=256).roofline.notes
    assert "K1, K2, K3" in note


def test_kernel_that_cannot_take_the_size_is_left_out(empty_session: None) -> None:
    run_in_session(MATMUL)
    found = gpulab.roofline("matmul", size=250).roofline
    assert any("K1" in note for note in found.notes)


@pytest.mark.parametrize(
    "wrong",
    [{"gpu": "gtx9"}, {"size": "big"}, {"intensity": "guessed"}, {"theme": "sepia"}, {"problem": "fft"}],
)
def test_unknown_argument_raises(empty_session: None, wrong: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        gpulab.roofline(**{"problem": "matmul", **wrong})  # type: ignore[arg-type]
