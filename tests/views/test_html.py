"""Notes, tables and the style sheet: safe text, and colours that can be read."""

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
def test_text_is_escaped_in_html_and_as_it_is_in_characters(view):
    assert "<script" not in view.html
    assert EVIL in view.text


def test_empty_views_are_left_out_of_a_stack():
    assert stack(View(), None, paragraph("a"), paragraph("b")).text == "a\nb"


def test_a_view_brings_along_the_style_that_it_needs():
    shown = note("bad", "a")._repr_html_()
    assert ".gp-bad{" in shown
    assert ".gp-table" not in shown
    # Every colour in use has a value in light and dark, on a plain page and in JupyterLab.
    for name in set(re.findall(r"var\(--gp-([a-z0-9-]+)\)", shown)) - {"size"}:
        assert shown.count(f"--gp-{name}:") == 4, name


def test_the_style_of_any_view_is_part_of_the_whole():
    views = (note("bad", "a"), table(["a"], [["b"]]), disclosure("a", paragraph("b")))
    for view in (*views, stack(*views)):
        rules = re.findall(r"(?<=\n)\.gpulab [^{]+{[^}]*}", style_of(view.html))
        assert rules
        assert all(rule in STYLE for rule in rules)


def test_no_rule_is_given_by_two_sheets():
    """A page has the sheets of many views one after the other; which is the last must not matter."""
    selectors = [selector for sheet in _SHEETS.values() for selector in sheet]
    assert len(selectors) == len(set(selectors))


def test_an_empty_view_shows_nothing():
    assert View()._repr_html_() == ""


def test_numeric_columns_are_set_to_the_right():
    text = table(["n", "ms"], [["a", "1"], ["b", "100"]], numeric=(1,)).text
    assert text.splitlines()[2:] == ["a    1", "b  100"]


def luminance(colour):
    """Relative luminance of sRGB, WCAG 2."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("which", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("name", ["ink", "dim", "good", "bad", "hint", "plain"])
@pytest.mark.parametrize("ground", ["paper", "band"])
def test_text_stands_out_from_its_ground(which, name, ground):
    colours = _INK | _SIGNS
    assert contrast(colours[name][which], colours[ground][which]) >= 4.5


@pytest.mark.parametrize("which", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("name", ["wrong", "unwritten", "stray"])
def test_points_that_are_not_right_stand_out_from_those_that_are(which, name):
    assert contrast(_SIGNS[name][which], _SIGNS["right"][which]) >= 1.2


def test_the_pieces_a_report_is_made_of_need_no_ipython():
    code = "import sys, pkgutil, importlib, gpulab.views\n"
    code += "for one in pkgutil.walk_packages(gpulab.views.__path__, 'gpulab.views.'):\n"
    code += "    importlib.import_module(one.name)\n"
    code += "assert not {'IPython', 'plotly', 'ipywidgets'} & set(sys.modules), sorted(sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_cell_says_more_when_the_pointer_rests_on_it():
    view = table(("a", "b"), [(1, 2), (3, 4)], hover={(1, 0): 'from "a" & b'})
    assert '<td title="from &quot;a&quot; &amp; b">3</td>' in view.html
    assert view.html.count("title=") == 1
    assert "from" not in view.text
