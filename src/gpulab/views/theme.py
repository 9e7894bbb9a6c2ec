"""Colours and the style sheet, for light and dark pages: notebooks, exports and reports.

There are two sets of colours. JupyterLab selects one with `data-jp-theme-light` on the body, also in
nbconvert's lab export; a plain page follows the setting of the reader's system. The property `color-scheme`
selects for the function `light-dark` of CSS, which browsers have since 2024. Each view paints its own
background, so that text and background always belong to the same set.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

__all__ = ["DARK", "LIGHT", "STYLE", "style_of"]

# Name: (light, dark). Text has a contrast of at least 4.5 to its background (WCAG 2, 1.4.3).
_INK = {
    "ink": ("#1f2328", "#e6edf3"),
    "dim": ("#57606a", "#9da7b3"),
    "paper": ("#ffffff", "#111418"),
    "band": ("#f3f5f7", "#1c2128"),
    "line": ("#d0d7de", "#3d444d"),
}
_SIGNS = {
    "good": ("#1a7f37", "#4ac26b"),
    "bad": ("#cf222e", "#ff7b72"),
    "hint": ("#8a5a00", "#d9a441"),
    "plain": ("#0969da", "#58a6ff"),
    # The states of a plane. They differ in lightness too, and large points have a mark.
    "right": ("#bfe3c8", "#23533a"),
    "wrong": ("#c1121f", "#ff6b5e"),
    "unwritten": ("#f2b84b", "#d9982a"),
    "stray": ("#7b3fa0", "#c792ea"),
    "outside": ("#e7eaee", "#2a3038"),
    "edge": ("#57606a", "#aeb8c4"),
    "mark": ("#ffffff", "#111418"),
}
# The heat scale: backgrounds, each with its own text colour. One hue from light to dark (in the dark set from
# dark to light), so that steps differ in lightness and can be distinguished without colour vision.
_HEAT = {
    "heat-1": ("#fdebc8", "#3b2c14"),
    "heat-2": ("#fdc36b", "#644410"),
    "heat-3": ("#f08c24", "#8f5a0c"),
    "heat-4": ("#a63c00", "#ffb347"),
    "heat-1-ink": ("#1f2328", "#e6edf3"),
    "heat-2-ink": ("#1f2328", "#e6edf3"),
    "heat-3-ink": ("#1f2328", "#ffffff"),
    "heat-4-ink": ("#ffffff", "#111418"),
    # The drawing of a request: lanes and requested bytes. The bar of a line's share of the instructions.
    "requested": ("#9cc7f5", "#2b5d96"),
    "share": ("#d3e5fa", "#1d3f66"),
}
_COLOURS = _INK | _SIGNS | _HEAT
# In JupyterLab, text and background are those of the theme, which may be a custom one.
_JUPYTER = {
    "ink": "--jp-content-font-color1",
    "dim": "--jp-content-font-color2",
    "paper": "--jp-layout-color0",
    "band": "--jp-layout-color1",
    "line": "--jp-border-color2",
}

LIGHT = {name: pair[0] for name, pair in _COLOURS.items()}
"""The light set by name, for SVG attributes, which remain where a style sheet was removed."""

DARK = {name: pair[1] for name, pair in _COLOURS.items()}
"""The dark set by name, for pictures with their own background."""

_SANS = "var(--jp-content-font-family,system-ui,sans-serif)"
_MONO = "var(--jp-code-font-family,ui-monospace,monospace)"
_CODE = f"font-family:{_MONO};font-size:.93em;color:inherit;background:none"

# Style sheets by the pattern of the fragments that need them; every fragment needs "". A notebook's page has
# the sheets of many outputs, one after the other. No rule overrides one of another sheet, so their order does
# not matter.
_SHEETS = {
    "": {
        "": "color:var(--gp-ink);background:var(--gp-paper);line-height:1.45;padding:2px 4px;"
        f"font-family:{_SANS};font-size:var(--gp-size);"
        "--gp-size:var(--jp-content-font-size1,14px)",  # presentations enlarge JupyterLab's
        "code": _CODE,
        "ul": "margin:2px 0 2px 18px;padding:0",
        # list-item, because the style sheet of nbgrader's feedback pages removes the triangle.
        "details>summary": "display:list-item;cursor:pointer;color:var(--gp-dim)",
        ".gp-scroll": "overflow-x:auto;container-type:inline-size",
    },
    "gp-(line|dim)": {
        ".gp-line": "margin:3px 0;color:var(--gp-ink)",
        ".gp-dim": "color:var(--gp-dim)",
    },
    "gp-note": {
        ".gp-note": "border-left:4px solid var(--gp-plain);background:var(--gp-band);padding:6px 12px;"
        "margin:4px 0;overflow-wrap:anywhere",  # a call in a note may be wider than a phone
        ".gp-note>b": "color:var(--gp-plain)",
        ".gp-note svg.gp-plane": "max-height:300px;width:auto",  # the card fits on a screen of 720 pixels
        ".gp-good": "border-left-color:var(--gp-good)",
        ".gp-good>b": "color:var(--gp-good)",
        ".gp-bad": "border-left-color:var(--gp-bad)",
        ".gp-bad>b": "color:var(--gp-bad)",
        ".gp-hint": "border-left-color:var(--gp-hint)",
        ".gp-hint>b": "color:var(--gp-hint)",
        # The output of printf in every thread would move all that follows out of sight.
        ".gp-note pre": "margin:4px 0;padding:0;border:0;overflow:auto;max-height:20em;white-space:pre;"
        f"{_CODE}",
    },
    "<progress": {"progress": "width:16em;vertical-align:middle;accent-color:var(--gp-plain)"},
    "gp-table": {
        "table.gp-table": "border-collapse:collapse;margin:6px 0;font-size:.93em;color:var(--gp-ink)",
        # The caption keeps the width of the window, and its place when the table is scrolled.
        ".gp-table caption": "caption-side:bottom;text-align:left;color:var(--gp-dim);padding:4px 0;"
        "font-size:.92em;position:sticky;left:0;max-width:100cqw;box-sizing:border-box",
        ".gp-table tr:nth-child(n)": "background:none",
        ".gp-table th,.gpulab .gp-table td": "text-align:left;padding:3px 8px;border:0;max-width:none;"
        "border-bottom:1px solid var(--gp-line);vertical-align:top;white-space:normal;overflow-wrap:normal;"
        "color:var(--gp-ink)",
        # Without the width, a narrow page breaks the column into single words.
        ".gp-table .gp-long": "min-width:9em;overflow-wrap:anywhere",
        # Headers break at spaces and slashes, so that a table fits next to JupyterLab's file browser on 1280
        # pixels.
        ".gp-table th": "vertical-align:bottom",
        ".gp-table th.gp-n,.gpulab .gp-table td.gp-n": "text-align:right;font-variant-numeric:tabular-nums",
        ".gp-table td.gp-n,.gpulab .gp-table td.gp-word": "white-space:nowrap",
    },
    "gp-plane": {
        "svg.gp-plane": "display:block;max-width:100%;height:auto;margin:6px 0",
        "svg.gp-plane text": f"fill:var(--gp-ink);font-family:{_SANS}",
        ".gp-edge-line": "stroke:var(--gp-edge)",
        ".gp-mark-line": "stroke:var(--gp-mark)",
    }
    | {
        f".gp-{state}-fill": f"fill:var(--gp-{state})"
        for state in ("right", "wrong", "unwritten", "stray", "outside")
    },
    # The source, its figures, which keep their place when a long line is scrolled, and the drawings below it.
    "gp-source": {
        ".gp-source": "overflow-x:auto;container-type:inline-size;border:1px solid var(--gp-line);"
        f"margin:6px 0;font-family:{_MONO};font-size:.9em;line-height:1.5",
        ".gp-rows": "width:max-content;min-width:100%",
        ".gp-row": "display:flex;list-style:none;color:var(--gp-ink);cursor:default",
        "summary.gp-row": "display:flex;color:var(--gp-ink)",
        "summary.gp-row::-webkit-details-marker": "display:none",
        "summary.gp-row:hover .gp-code": "background:var(--gp-band)",
        # The number of a line and its figures.
        ".gp-figs": "display:grid;flex:none;grid-auto-flow:column;"
        "grid-template-columns:calc(4*var(--gp-size));grid-auto-columns:calc(5*var(--gp-size));"
        "position:sticky;left:0;background:var(--gp-paper);border-right:1px solid var(--gp-line);"
        "text-align:right;font-variant-numeric:tabular-nums",
        ".gp-figs>*": "padding:0 8px;font-style:normal;border-left:1px solid var(--gp-paper)",
        ".gp-figs>.gp-no": "padding-left:0;color:var(--gp-dim)",
        "summary.gp-row .gp-no::before": 'content:"▸";float:left;padding-left:.5em;color:var(--gp-plain)',
        "details[open]>summary.gp-row .gp-no::before": 'content:"▾"',
        ".gp-code": "white-space:pre;tab-size:4;padding:0 1em 0 .8em;flex:1 0 auto",
        ".gp-quiet": "color:var(--gp-dim)",
        ".gp-head": f"font-family:{_SANS};font-size:.92em;line-height:1.25;color:var(--gp-dim);"
        "border-bottom:1px solid var(--gp-line)",
        ".gp-head>*,.gpulab .gp-head .gp-figs>*": "padding-top:4px;padding-bottom:4px;white-space:nowrap;"
        "align-self:end",
        ".gp-drawings": "position:sticky;left:0;max-width:100cqw;box-sizing:border-box;padding:4px 12px 8px;"
        f"font-family:{_SANS};font-size:1.04em;background:var(--gp-band);border:solid var(--gp-line);"
        "border-width:1px 0",
        ".gp-drawings summary": "color:var(--gp-ink);padding:2px 0",
        ".gp-opens::before": 'content:"▸ ";color:var(--gp-plain)',
        # On a narrow screen, fixed figures would cover the source.
        "@container (max-width:600px)": ".gpulab .gp-source .gp-figs{position:static;"
        "grid-template-columns:44px;grid-auto-columns:64px}.gpulab .gp-source .gp-figs>*{padding:0 5px}",
        # Rules for the page itself; they are part of this sheet because every lab shows a source. nbconvert's
        # export hides the end of long lines of code. JupyterLab's body has another class.
        "body.jp-Notebook .jp-InputArea-editor": "overflow-x:auto",
        "@media (max-width:760px)": "body.jp-Notebook :is(.jp-InputArea,.jp-InputArea-editor,"
        ".jp-MarkdownOutput){display:block;width:auto}"
        # A lab's figure is 720 pixels wide; it is scrolled rather than shrunk until its text is unreadable.
        "body.jp-Notebook .jp-MarkdownOutput{overflow-x:auto}"
        "body.jp-Notebook .jp-MarkdownOutput img{max-width:none;min-width:540px}",
        # The labs' figures have colours for both themes. JupyterLab sets this property itself.
        'body[data-jp-theme-light="true"] .jp-RenderedMarkdown img': "color-scheme:light",
        'body[data-jp-theme-light="false"] .jp-RenderedMarkdown img': "color-scheme:dark",
    },
    # A bar in the background of a cell.
    "gp-share": {
        ".gp-share": "background:linear-gradient(90deg,var(--gp-share) var(--gp-part),#0000 var(--gp-part))",
        "td.gp-share": "min-width:6em",
    },
    "gp-heat": {
        ".gp-swatch": "display:inline-block;padding:0 8px;border:1px solid var(--gp-line);font-size:.86em",
    }
    | {
        f".gp-heat-{step}": f"background:var(--gp-heat-{step});color:var(--gp-heat-{step}-ink)"
        for step in range(1, 5)
    },
    "gp-warp": {
        # The text would be unreadable if it were smaller, so a narrow page scrolls the drawing.
        "svg.gp-warp": "display:block;min-width:640px;max-width:100%;height:auto;margin:6px 0 2px",
        "svg.gp-warp text": f"fill:var(--gp-ink);font-family:{_SANS}",
        ".gp-cells": "fill:var(--gp-outside);stroke:var(--gp-edge)",
        ".gp-used": "stroke:var(--gp-plain)",
        ".gp-banks": "stroke:var(--gp-outside)",
        ".gp-requested,.gpulab .gp-lanes": "fill:var(--gp-requested);stroke:var(--gp-edge)",
        ".gp-conflict": "fill:var(--gp-heat-3);stroke:var(--gp-edge)",
        ".gp-idle": "fill:var(--gp-outside);stroke:var(--gp-edge)",
        ".gp-lanes path:has(title):hover": "fill:var(--gp-paper);stroke:var(--gp-wrong);stroke-width:2.5",
    },
}


def _value(name: str) -> str:
    """Return a colour: in JupyterLab that of the theme, elsewhere one of the two sets."""
    light, dark = _COLOURS[name]
    value = light if light == dark else f"light-dark({light},{dark})"
    return f"var({_JUPYTER[name]},{value})" if name in _JUPYTER else value


def _style_sheet(rules: Mapping[str, str], html: str = "", colours: Iterable[str] = ()) -> str:
    """Return the rules as text, after rules that define the colours in use."""
    names = set(re.findall(r"var\(--gp-([\w-]+)", " ".join((*rules.values(), html)))).union(colours)
    values = "".join(f"--gp-{name}:{_value(name)};" for name in _COLOURS if name in names)
    sets = {
        ".gpulab": f"{values}color-scheme:light dark",
        '[data-jp-theme-light="true"] .gpulab': "color-scheme:light",
        '[data-jp-theme-light="false"] .gpulab': "color-scheme:dark",
    }
    return "\n".join(f"{selector}{{{body}}}" for selector, body in (*sets.items(), *rules.items()))


def _rules(sheets: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Return the rules of sheets, limited to the class `gpulab` unless their selector names another place."""
    return {
        selector if selector.startswith(("@", "body")) else f".gpulab {selector}".rstrip(): body
        for sheet in sheets
        for selector, body in sheet.items()
    }


def style_of(html: str) -> str:
    """Return the part of the style sheet that a fragment of HTML needs."""
    return _style_sheet(_rules(sheet for pattern, sheet in _SHEETS.items() if re.search(pattern, html)), html)


STYLE = _style_sheet(_rules(_SHEETS.values()), colours=_COLOURS)
"""The whole style sheet, for a page with many views."""
