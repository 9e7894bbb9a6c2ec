"""The colours of all figures, each for light and for dark pages.

A figure is written with the light colours and contains a rule for each of them that replaces it on a dark
page. Names describe the light colours. Text in `INK` is legible on every pale fill, and text in `EMPTY` on
every strong one, in both sets.
"""

from __future__ import annotations

INK, MUTED, LINE = "#1f2933", "#55616e", "#aab6c2"
CARD, EMPTY = "#f6f8fa", "#ffffff"  # the figure's background; a cell without a value
GREY, SILVER = "#d5dbe2", "#e6ebf1"
PALE_BLUE, PALE_GREEN, PALE_ORANGE, YELLOW = "#bcd8f2", "#bfe6da", "#f6d3b4", "#f3cd6a"
BLUE, GREEN, ORANGE, PURPLE = "#1f6cb0", "#13795b", "#b54a00", "#7a4fc0"

PALE = (CARD, EMPTY, GREY, SILVER, PALE_BLUE, PALE_GREEN, PALE_ORANGE, YELLOW)
STRONG = (BLUE, GREEN, ORANGE, PURPLE)

DARK = {
    INK: "#e6edf3", MUTED: "#a6b1bd", LINE: "#57626e",
    CARD: "#181d23", EMPTY: "#0f1317",
    GREY: "#3b444e", SILVER: "#272e36",
    PALE_BLUE: "#1e456a", PALE_GREEN: "#174a3c", PALE_ORANGE: "#5d3818", YELLOW: "#685010",
    BLUE: "#79b8ff", GREEN: "#56d4a8", ORANGE: "#ffa657", PURPLE: "#c6a5ff",
}  # fmt: skip

# Fills that can be distinguished without colour vision. The second colour is that of the pattern.
HATCHED = "url(#hatched)"  # no data, or idle
DOTTED = "url(#dotted)"  # the halo: read, not written
STRIPED = "url(#striped)"  # a conflict, or an overlap in time that must not happen
_STROKE = 'patternUnits="userSpaceOnUse" patternTransform="rotate(45)"'
PATTERNS = {
    HATCHED: f'<pattern id="hatched" width="6" height="6" {_STROKE}>'
    f'<path d="M0 0V6" stroke="{LINE}" stroke-width="2.4"/></pattern>',
    DOTTED: '<pattern id="dotted" width="6" height="6" patternUnits="userSpaceOnUse">'
    f'<path d="M0 0H6V6H0z" fill="{YELLOW}"/><circle cx="3" cy="3" r="0.9" fill="{MUTED}"/></pattern>',
    STRIPED: f'<pattern id="striped" width="7" height="7" {_STROKE}>'
    f'<path d="M0 0H7V7H0z" fill="{PALE_ORANGE}"/><path d="M0 0V7" stroke="{ORANGE}" stroke-width="3"/>'
    "</pattern>",
}
