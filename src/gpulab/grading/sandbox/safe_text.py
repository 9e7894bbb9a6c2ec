"""Text and HTML of submissions without control characters and without active markup.

HTML is parsed and written again by `nh3`, with the elements and attributes listed here only. No class, ID
or data attribute is among them, because the scripts of nbgrader's pages react to those.
"""

from __future__ import annotations

import html
import re

import nh3

__all__ = ["COLOUR_CODE", "MATHJAX_MACRO", "clean_html", "clean_text"]

HTML_CHARACTERS = 50_000  # nested elements take quadratic time
COLOUR_CODES = 2_000  # per text; nbconvert takes quadratic time in their number

ELEMENTS = """
    a b blockquote br caption code col colgroup dd del details div dl dt em h1 h2 h3 h4 h5 h6 hr i ins kbd li
    ol p pre s samp small span strong sub summary sup table tbody td tfoot th thead tr u ul var
"""
ATTRIBUTES = {
    "*": {"align", "style", "title", "valign"},
    "a": {"href"},
    "col": {"span"},
    "colgroup": {"span"},
    "ol": {"start"},
    "td": {"colspan", "rowspan"},
    "th": {"colspan", "rowspan", "scope"},
}
# No property places an element over the rest of the page, and none loads a URL.
CSS_PROPERTIES = """
    background-color border border-bottom border-collapse border-left border-right border-top color
    font-family font-size font-style font-weight line-height padding padding-bottom padding-left padding-right
    padding-top text-align text-decoration vertical-align white-space
"""

HTML_CLEANER = nh3.Cleaner(
    tags=set(ELEMENTS.split()),
    clean_content_tags={"script", "style", "template"},  # their content is not text for a reader
    attributes=ATTRIBUTES,
    url_schemes={"http", "https", "mailto"},
    filter_style_properties=set(CSS_PROPERTIES.split()),
    link_rel=None,
)

COLOUR_CODE = re.compile(r"\x1b\[[0-9;]{0,24}m")
# The colour codes of a terminal are kept. Other sequences move the cursor or set the window's title.
ESCAPE_SEQUENCE = re.compile(
    r"\x1b\[(?![0-9;]{0,24}m)[0-?]*[ -/]*[@-~]"  # CSI
    r"|\x1b[\]P^_X][^\x07\x1b]*(?:\x07|\x1b\\)?"  # OSC, DCS and others that carry text
    r"|\x1b(?!\[)[@-Z\\-_]?"
    r"|\x1b\[(?![0-9;]{0,24}m)"
)
# C0 and C1 except tab, line feed and escape; and the characters that reverse the direction of writing, with
# which code can be shown in another order than it runs.
CONTROL_CHARACTERS = re.compile("[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff]")

# MathJax typesets formulas anywhere in a page. These macros make links, set attributes or load extensions.
MATHJAX_MACRO = re.compile(
    r"\\(?=(?:bbox|class|cssId|data|href|include\w*|require|style|unicode|url)(?![a-zA-Z]))"
)


def clean_text(text: str) -> str:
    """Return a text without control characters, except tabs, line ends and the colour codes of a terminal.

    A carriage return deletes the text before it on its line, as on a terminal. An unpaired surrogate, which
    no file can store, becomes a question mark.
    """
    text = text.encode("utf-8", "replace").decode("utf-8").replace("\r\n", "\n")
    if "\r" in text:
        text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    if "\x1b" in text:
        text = ESCAPE_SEQUENCE.sub("", text)
        if text.count("\x1b") > COLOUR_CODES:
            text = COLOUR_CODE.sub("", text)
    return CONTROL_CHARACTERS.sub("", text)


def clean_html(text: str) -> str | None:
    """Return HTML that contains allowed elements and attributes only.

    The result is None if the text is too long, or if it contains macros of MathJax that set attributes.
    """
    if len(text) > HTML_CHARACTERS:
        return None

    cleaned = HTML_CLEANER.clean(COLOUR_CODE.sub("", clean_text(text)))
    return None if MATHJAX_MACRO.search(html.unescape(cleaned)) else cleaned
