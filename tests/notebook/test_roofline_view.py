"""Rooflines as plotly figures and still pictures: what they show, and that no label lies on another."""

from __future__ import annotations

import copy
import json
import re
import struct
import xml.etree.ElementTree as ET
from itertools import combinations
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import pytest

import gpulab
from gpulab import session
from gpulab.cell import parse_cell
from gpulab.errors import UsageError
from gpulab.notebook import session_timings
from gpulab.notebook.roofline_figure import RooflineFigure, roofline_figure
from gpulab.profiling.roofline import Roofline
from gpulab.verification.check import compile_cell
from gpulab.views.roofline.label_places import Box
from gpulab.views.roofline.roofline_layout import MARK, Scene, scene_of
from gpulab.views.roofline.roofline_static import matplotlib_figure, svg
from gpulab.views.theme import DARK, LIGHT
from tests.notebook.roofline_cases import roofline_case

COUNTS = (3, 6, 12)
CASES = [
    pytest.param(count, decades, measured, key, id=f"{count} points, {decades}, {key}, {measured=}")
    for count in COUNTS
    for decades in (0.0, 0.01, 0.8)
    for measured, key in ((True, "h200"), (False, "gtx280"))
]
MATMUL = """%%cuda matmul.K1 --block 64
__global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y;
    float sum = 0.0f;
    for (int k = 0; k < p; ++k) sum += b[i + n * k] * c[k + p * j];
    a[i + n * j] = sum;
}
"""


def made(count: int = 3, theme: str = "light", **more: Any) -> RooflineFigure:
    found = roofline_case(count, **more)
    return roofline_figure(found, scene_of(found, "512x512x512"), theme)


def placed(count: int, decades: float, measured: bool, key: str, **more: Any) -> Scene:
    return scene_of(roofline_case(count, decades, measured=measured, key=key, **more))


# -- labels -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("count", "decades", "measured", "key"), CASES)
def test_no_label_overlaps_another(count: int, decades: float, measured: bool, key: str) -> None:
    labels = placed(count, decades, measured, key).labels
    assert [(a.text, b.text) for a, b in combinations(labels, 2) if a.box.overlaps(b.box)] == []


@pytest.mark.parametrize(("count", "decades", "measured", "key"), CASES)
def test_no_label_lies_on_a_mark_or_leaves_the_plot(
    count: int, decades: float, measured: bool, key: str
) -> None:
    scene = placed(count, decades, measured, key)
    marks = [Box(mark.x, mark.y, 2 * MARK, 2 * MARK) for mark in scene.marks]
    assert [label.text for label in scene.labels if not label.box.inside(scene.plot)] == []
    assert [label.text for label in scene.labels if any(label.box.overlaps(mark) for mark in marks)] == []


@pytest.mark.parametrize(("count", "decades", "measured", "key"), CASES)
def test_every_point_has_its_label(count: int, decades: float, measured: bool, key: str) -> None:
    scene = placed(count, decades, measured, key)
    named = {label.text for label in scene.labels if label.kind == "point"}
    assert named == {mark.point.variant for mark in scene.marks}
    assert len(scene.marks) == count


@pytest.mark.parametrize("count", COUNTS)
def test_labels_of_points_above_their_roof_find_a_place_too(count: int) -> None:
    scene = placed(count, 0.3, True, "h200", above=1)
    assert not any(a.box.overlaps(b.box) for a, b in combinations(scene.labels, 2))
    assert sum("above its roof" in label.text for label in scene.labels) == 1


@pytest.mark.parametrize("centre", [1.0, 32.0, 683.0])
@pytest.mark.parametrize("count", COUNTS)
def test_every_roof_of_dram_and_fp32_has_its_name(count: int, centre: float) -> None:
    scene = scene_of(roofline_case(count, 0.01, centre=centre))
    names = [label.text for label in scene.labels if label.kind == "roof"]
    for level in ("DRAM", "fp32"):
        kinds = {roof.solid for roof in scene.roofs if roof.ceiling.level == level}
        assert sum(name.startswith(level) for name in names) == len(kinds) == 2
    assert not any(a.box.overlaps(b.box) for a, b in combinations(scene.labels, 2))


@pytest.mark.parametrize("centre", [0.01, 1.0, 32.0, 120.0, 683.0])
@pytest.mark.parametrize("measured", [True, False])
def test_a_roof_that_has_no_room_for_its_name_is_not_drawn(centre: float, measured: bool) -> None:
    scene = scene_of(roofline_case(3, 0.3, centre=centre, measured=measured))
    named = [label.text for label in scene.labels if label.kind == "roof"]
    for roof in scene.roofs:
        assert any(name.startswith(roof.ceiling.level) for name in named), roof.ceiling
    highest = max(roof.ceiling.rate for roof in scene.roofs if roof.ceiling.is_memory)
    for roof in scene.roofs:
        if not roof.ceiling.is_memory:  # it begins at a slope that is drawn, not in the air left of it
            assert scene.at(*roof.line[:2])[0] >= 0.999 * roof.ceiling.rate / highest
    drawn = {roof.colour for roof in scene.roofs}
    assert {colour for _, _, colour in scene.ridges} <= drawn


def test_a_roofs_label_runs_along_its_slope() -> None:
    scene = placed(3, 0.3, False, "h200")
    for roof in scene.roofs:
        x1, y1, x2, y2 = roof.line
        (label,) = (
            each for each in scene.labels if each.kind == "roof" and each.text.startswith(roof.ceiling.level)
        )
        (ax, ay), (bx, by) = label.box.corners[:2]
        assert (by - ay) / (bx - ax) == pytest.approx((y2 - y1) / (x2 - x1), abs=1e-6)


def test_the_drawn_letters_of_the_png_do_not_overlap_either() -> None:
    """Matplotlib's own measure of upright labels, where they are drawn."""
    scene = placed(12, 0.01, True, "h200")
    figure = matplotlib_figure(scene, LIGHT)
    figure.canvas.draw()
    upright = {label.text for label in scene.labels if label.box.angle == 0}
    texts = [text for text in figure.axes[0].texts if text.get_text() in upright]
    extents = [(text.get_text(), text.get_window_extent()) for text in texts]
    assert len(extents) >= len(upright)
    assert [
        (a, b) for (a, one), (b, two) in combinations(extents, 2) if one.shrunk(0.98, 0.6).overlaps(two)
    ] == []


# -- the plotly figure ------------------------------------------------------------------------------


def test_it_is_a_plain_plotly_figure_with_logarithmic_axes() -> None:
    figure = made()
    assert isinstance(figure, go.Figure)
    assert not isinstance(figure, go.FigureWidget)
    assert (figure.layout.xaxis.type, figure.layout.yaxis.type) == ("log", "log")


def test_measured_roofs_are_solid_and_the_data_sheets_dashed() -> None:
    figure = made()
    dashes = {trace.name: trace.line.dash for trace in figure.data if trace.mode == "lines"}
    assert dashes
    assert all((dash == "solid") == ("measured" in name) for name, dash in dashes.items())


def test_the_points_are_joined_in_the_order_of_the_ladder() -> None:
    figure = made(6)
    variants = figure.data[-1]
    assert variants.mode == "lines+markers"
    assert list(variants.text) == [point.variant for point in figure.roofline.points]
    assert list(variants.x) == pytest.approx([point.intensity for point in figure.roofline.points], rel=1e-4)
    assert list(variants.y) == pytest.approx([point.gflops for point in figure.roofline.points], rel=1e-4)


@pytest.mark.parametrize(
    "said", ["ms", "GB", "flops", "% of DRAM", "block 32x8x1", "occupancy 50 %", "modelled", "counted"]
)
def test_hovering_over_a_point_says(said: str) -> None:
    assert said in made().data[-1].customdata[0]


def test_the_axis_says_which_bytes_were_taken() -> None:
    assert "counted" in made().layout.xaxis.title.text


def test_a_point_above_its_roof_is_marked_and_said_to_be_a_mistake() -> None:
    figure = made(3, above=1)
    assert list(figure.data[-1].marker.symbol) == ["circle", "x", "circle"]
    assert any("mistake" in (note.text or "") for note in figure.layout.annotations)
    assert "mistake" in figure._repr_mimebundle_()["text/html"]


def test_labels_stand_in_the_figure_where_they_were_placed() -> None:
    figure = made(6)
    scene = scene_of(figure.roofline)
    (label,) = (each for each in scene.labels if each.text == "opt_3")
    (note,) = (each for each in figure.layout.annotations if each.text == "<b>opt_3</b>")
    shift = (note.ax, note.ay) if note.showarrow else (note.xshift, -note.yshift)
    assert shift == pytest.approx((label.box.x - label.anchor[0], label.box.y - label.anchor[1]), abs=0.1)


# -- what a notebook keeps --------------------------------------------------------------------------


def test_a_notebook_keeps_the_data_and_an_svg_and_no_script() -> None:
    bundle = made(12)._repr_mimebundle_()
    assert set(bundle) == {"application/vnd.plotly.v1+json", "text/html", "text/plain"}
    assert len(json.dumps(bundle)) < 100_000
    assert "<svg" in bundle["text/html"]
    assert "<script" not in bundle["text/html"]


def test_nothing_is_loaded_from_another_host() -> None:
    text = json.dumps(made(12)._repr_mimebundle_())
    assert set(re.findall(r"https?://[\w.]+", text)) <= {"http://www.w3.org"}  # SVG's name space


def test_ipython_shows_it_by_its_own_bundle(notebook: Any) -> None:
    data, _ = notebook.shell.display_formatter.format(made())
    assert "<svg" in data["text/html"]
    assert "application/vnd.plotly.v1+json" in data


def test_the_still_picture_has_the_figures_in_a_table() -> None:
    text = made().still.text
    assert all(variant in text for variant in ("naive", "opt_1", "opt_2", "% ", "ms", "DRAM"))


def test_a_copy_can_still_be_saved(tmp_path: Path) -> None:
    assert copy.deepcopy(made()).save(tmp_path / "copy.svg").stat().st_size > 1000


# -- files ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_png_is_a_png_of_the_scenes_size(tmp_path: Path, theme: str) -> None:
    figure = made()
    content = figure.save(tmp_path / "x.png", theme).read_bytes()
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", content[16:24]) == (2 * figure.layout.width, 2 * figure.layout.height)


@pytest.mark.parametrize(("theme", "colours"), [("light", LIGHT), ("dark", DARK)])
def test_an_svg_paints_its_own_paper(tmp_path: Path, theme: str, colours: dict[str, str]) -> None:
    root = ET.parse(made().save(tmp_path / "x.svg", theme)).getroot()
    assert root.tag.endswith("svg")
    first = next(iter(root))
    assert first.get("fill") == colours["paper"]
    assert first.get("width") == "100%"


@pytest.mark.parametrize("theme", [None, "light", "dark"])
def test_the_svg_is_well_formed(theme: str | None) -> None:
    ET.fromstring(svg(scene_of(roofline_case(3, above=1)), theme))


def test_on_a_page_the_svg_follows_the_pages_theme() -> None:
    assert "var(--gp-ink," in svg(scene_of(roofline_case(3)))


@pytest.mark.parametrize("name", ["x.pdf", "x"])
def test_another_kind_of_file_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match=r"\.png or \.svg"):
        made().save(tmp_path / name)


def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be written"):
        made().save(tmp_path / "nowhere" / "x.svg")


def test_a_theme_that_there_is_not_is_refused() -> None:
    with pytest.raises(UsageError, match="theme"):
        made(theme="sepia")


# -- gpulab.roofline --------------------------------------------------------------------------------


@pytest.fixture
def kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """No kernel of any other test."""
    monkeypatch.setattr(session, "_KERNELS", {})
    monkeypatch.setattr(session, "_CELLS", {})
    monkeypatch.setattr(session_timings, "_TABLES", {})


def test_a_session_without_kernels_has_roofs_and_says_so(kernels: None) -> None:
    figure = gpulab.roofline("matmul")
    assert not figure.roofline.points
    assert any("run its kernel cells" in (note.text or "") for note in figure.layout.annotations)


def test_without_a_problem_it_has_the_roofs_alone(kernels: None) -> None:
    figure = gpulab.roofline(None, "gtx280")
    assert not figure.roofline.points
    assert {c.level for c in figure.roofline.ceilings} == {"DRAM", "shared memory", "fp32"}
    assert "GTX 280" in figure.layout.title.text
    assert not any("cells" in (note.text or "") for note in figure.layout.annotations)


def test_a_right_kernel_is_on_it_and_its_time_is_modelled(kernels: None) -> None:
    compile_cell(parse_cell(MATMUL), gpulab.device("sim"))
    found: Roofline = gpulab.roofline("matmul", "gtx280", 256).roofline
    assert [point.variant for point in found.points] == ["K1"]
    assert found.points[0].provenance.kind == "modelled"
    assert {c.provenance.kind for c in found.ceilings} == {"published"}


def test_a_kernel_whose_arrays_stay_in_l2_is_left_out_and_said_to_be(kernels: None) -> None:
    compile_cell(parse_cell(MATMUL), gpulab.device("sim"))
    found = gpulab.roofline("matmul", size=64).roofline
    assert not found.points
    assert any("L2" in note for note in found.notes)


def test_compulsory_bytes_are_those_of_the_problem(kernels: None) -> None:
    compile_cell(parse_cell(MATMUL), gpulab.device("sim"))
    found = gpulab.roofline("matmul", "gtx280", 256, "compulsory").roofline
    assert found.gpu == "GeForce GTX 280"
    assert found.points[0].nbytes == 3 * 4 * 256 * 256


def test_a_wrong_kernel_is_left_out_and_said_to_be(kernels: None) -> None:
    compile_cell(parse_cell(MATMUL.replace("sum +=", "sum -=")), gpulab.device("sim"))
    found = gpulab.roofline("matmul", size=256).roofline
    assert not found.points
    assert any("K1 is left out" in note for note in found.notes)


def test_kernels_that_are_left_out_for_one_reason_share_a_sentence(kernels: None) -> None:
    for variant in ("K1", "K2", "K3"):
        text = MATMUL.replace("matmul.K1", f"matmul.{variant}").replace("sum +=", "sum -=")
        compile_cell(parse_cell(text), gpulab.device("sim"))
    (note,) = gpulab.roofline("matmul", size=256).roofline.notes
    assert note.startswith("K1, K2, K3 are left out")


def test_a_size_that_the_kernel_cannot_take_leaves_it_out(kernels: None) -> None:
    compile_cell(parse_cell(MATMUL), gpulab.device("sim"))
    found = gpulab.roofline("matmul", size=250).roofline
    assert any("multiples" in note for note in found.notes)


@pytest.mark.parametrize(
    "wrong",
    [{"gpu": "gtx9"}, {"size": "big"}, {"intensity": "guessed"}, {"theme": "sepia"}, {"problem": "fft"}],
)
def test_what_there_is_not_is_refused(kernels: None, wrong: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        gpulab.roofline(**{"problem": "matmul", **wrong})  # type: ignore[arg-type]
