"""Notes, tables and the style sheet: escaped text and readable colours."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from gpulab.views.html import View, disclosure, note, paragraph, stack, table
from gpulab.views.theme import _INK, _SHEETS, _SIGNS, STYLE, style_of

EVIL = '<script>alert("x")</script>&'


@pytest.mark.parametrize(
    "view",
    [
        note("bad", EVIL, [EVIL], code=EVIL),
        paragraph(EVIL),
        table([EVIL], [[EVIL]], caption=EVIL),
        disclosure(EVIL, paragraph(EVIL)),
    ],
    ids=["note", "paragraph", "table", "disclosure"],
)
def test_text_is_escaped_in_html_only(view):
    assert "<script" not in view.html
    assert EVIL in view.text


def test_stack_leaves_out_empty_views():
    assert stack(View(), None, paragraph("a"), paragraph("b")).text == "a\nb"


def test_view_has_the_style_that_it_needs():
    shown = note("bad", "a")._repr_html_()
    assert ".gp-bad{" in shown
    assert ".gp-table" not in shown
    # Every colour in use has a value for light pages and one for dark pages.
    for name in set(re.findall(r"var\(--gp-([a-z0-9-]+)\)", shown)) - {"size"}:
        assert re.search(rf"--gp-{name}:[^;]*light-dark\(#\w+,#\w+\)", shown), name


def test_table_with_bars_has_their_style():
    assert ".gp-share{" in table(["ms"], [["1"]], bars={(0, 0): 100})._repr_html_()


def test_style_of_a_view_is_part_of_the_style_sheet():
    views = (note("bad", "a"), table(["a"], [["b"]]), disclosure("a", paragraph("b")))
    for view in (*views, stack(*views)):
        rules = re.findall(r"(?<=\n)\.gpulab [^{]+{[^}]*}", style_of(view.html))
        assert rules
        assert all(rule in STYLE for rule in rules)


def test_selectors_of_sheets_are_unique():
    """A page has the sheets of many views, whose order must not matter."""
    selectors = [selector for sheet in _SHEETS.values() for selector in sheet]
    assert len(selectors) == len(set(selectors))


def test_empty_view_has_no_html():
    assert View()._repr_html_() == ""


def test_numeric_column_is_aligned_to_the_right():
    text = table(["n", "ms"], [["a", "1"], ["b", "100"]], numeric=(1,)).text
    assert text.splitlines()[2:] == ["a    1", "b  100"]


def luminance(colour):
    """Return the relative luminance of an sRGB colour (WCAG 2)."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("which", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("name", ["ink", "dim", "good", "bad", "hint", "plain"])
@pytest.mark.parametrize("ground", ["paper", "band"])
def test_text_has_contrast_to_its_background(which, name, ground):
    colours = _INK | _SIGNS
    assert contrast(colours[name][which], colours[ground][which]) >= 4.5


@pytest.mark.parametrize("which", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("name", ["wrong", "unwritten", "stray"])
def test_wrong_points_have_contrast_to_correct_ones(which, name):
    assert contrast(_SIGNS[name][which], _SIGNS["right"][which]) >= 1.2


def test_views_import_no_ipython():
    code = "import sys, pkgutil, importlib, gpulab.views\n"
    code += "for module in pkgutil.walk_packages(gpulab.views.__path__, 'gpulab.views.'):\n"
    code += "    importlib.import_module(module.name)\n"
    code += "assert not {'IPython', 'plotly', 'ipywidgets'} & set(sys.modules), sorted(sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_names_do_not_break_and_headers_break_at_a_slash():
    html = table(("GPU", "warps/SM", "reason"), [("Tesla T10", 8, "a reason " * 8)], numeric=(1,)).html
    assert '<td class="gp-word">Tesla T10</td>' in html
    assert html.count("gp-word") == 1
    assert '<th class="gp-n">warps/<wbr>SM</th>' in html


def test_cell_has_a_tooltip():
    view = table(("a", "b"), [(1, 2), (3, 4)], hover={(1, 0): 'from "a" & b'})
    assert 'title="from &quot;a&quot; &amp; b">3</td>' in view.html
    assert view.html.count("title=") == 1
    assert "from" not in view.text
