"""Control characters and HTML of submissions."""

from __future__ import annotations

import pytest

from gpulab.grading.sandbox.safe_text import COLOUR_CODES, HTML_CHARACTERS, clean_html, clean_text


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("tab\tand\nline", "tab\tand\nline"),
        ("\x1b[1;31mred\x1b[0m", "\x1b[1;31mred\x1b[0m"),
        ("\x1b[2J\x1b[3;4Htop", "top"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://x\x1b\\link", "link"),
        ("\x1bPq#0\x1b\\x", "x"),
        ("a\x1b", "a"),
        ("a\x1b[", "a"),
        ("a\x00b\x08c\x7fd\x9be", "abcde"),
        ("10 %\r50 %\r100 %\n", "100 %\n"),
        ("done\r\n", "done\n"),
        ("done\r", "done"),
        ("a\u202eb\u2066c", "abc"),
        ("half \ud800", "half ?"),
        ("größer ≤ π", "größer ≤ π"),
    ],
)
def test_control_characters_are_removed(text: str, cleaned: str) -> None:
    assert clean_text(text) == cleaned


def test_flood_of_colour_codes_is_removed() -> None:
    assert clean_text("\x1b[1mx" * (COLOUR_CODES + 1)) == "x" * (COLOUR_CODES + 1)


@pytest.mark.parametrize(
    "html",
    [
        '<table border="1"><thead><tr><th colspan="2">x</th></tr></thead></table>',
        '<p style="color:red;text-align:right">a <b>b</b> &lt; c<br>d</p>',
        '<a href="https://example.org/?a=1">x</a>',
    ],
)
def test_plain_html_is_kept(html: str) -> None:
    assert clean_html(html.replace(' border="1"', "")) == html.replace(' border="1"', "")


@pytest.mark.parametrize(
    ("html", "cleaned"),
    [
        ("<style>td {color: red}</style><b>x</b>", "<b>x</b>"),
        ("<script>f()</script>x", "x"),
        ('<b onclick="f()" class="c" id="i" data-toggle="t">x</b>', "<b>x</b>"),
        ('<a href="javascript:f()">x</a>', "<a>x</a>"),
        ('<p style="position: fixed; background: url(x); color: red">x</p>', '<p style="color:red">x</p>'),
        ("<svg><p>x</p></svg>", "<p>x</p>"),
        ("a < b", "a &lt; b"),
    ],
)
def test_other_html_is_removed(html: str, cleaned: str) -> None:
    assert clean_html(html) == cleaned


def test_html_is_dropped_if_it_is_too_long_or_links_by_mathjax() -> None:
    assert clean_html("x" * (HTML_CHARACTERS + 1)) is None
    assert clean_html(r"$\href{javascript:f()}{x}$") is None
    assert clean_html(r"$\hr&#101;f{javascript:f()}{x}$") is None
