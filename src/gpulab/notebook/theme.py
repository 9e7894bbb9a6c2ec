"""Colours and the style sheet: readable in light and dark, in a notebook, an export and a report.

Colours come in two sets. JupyterLab says which one is on (`data-jp-theme-light` on the body, also
in nbconvert's lab export); a plain page follows the reader's system. Each piece paints its own
background, so that text and background always belong to one set, whatever page is around them.
"""

from __future__ import annotations

__all__ = ["DARK", "LIGHT", "STYLE"]

# name: (light, dark). Text colours have a contrast of at least 4.5 to their background (WCAG 2, 1.4.3).
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
    # The plane: each state has its own lightness too and, where a point is big enough, its own mark.
    "right": ("#bfe3c8", "#23533a"),
    "wrong": ("#c1121f", "#ff6b5e"),
    "unwritten": ("#f2b84b", "#d9982a"),
    "stray": ("#7b3fa0", "#c792ea"),
    "outside": ("#e7eaee", "#2a3038"),
    "edge": ("#57606a", "#aeb8c4"),
    "mark": ("#ffffff", "#111418"),
}
# The heat scale, for backgrounds with an ink of their own: one hue from light to dark (in the dark set from
# dark to light), so that steps differ in lightness and can be told apart without seeing colours.
_HEAT = {
    "heat-1": ("#fdebc8", "#3b2c14"),
    "heat-2": ("#fdc36b", "#644410"),
    "heat-3": ("#f08c24", "#8f5a0c"),
    "heat-4": ("#a63c00", "#ffb347"),
    "heat-1-ink": ("#1f2328", "#e6edf3"),
    "heat-2-ink": ("#1f2328", "#e6edf3"),
    "heat-3-ink": ("#1f2328", "#ffffff"),
    "heat-4-ink": ("#ffffff", "#111418"),
    # The drawing of a warp's access: lanes, and the bytes that they ask for; a share of the instructions.
    "asked": ("#9cc7f5", "#2b5d96"),
    "share": ("#d3e5fa", "#1d3f66"),
}
_COLOURS = _INK | _SIGNS | _HEAT
# In JupyterLab ink and paper are the theme's own, so that custom themes fit too.
_JUPYTER = {
    "ink": "--jp-content-font-color1",
    "dim": "--jp-content-font-color2",
    "paper": "--jp-layout-color0",
    "band": "--jp-layout-color1",
    "line": "--jp-border-color2",
}

LIGHT = {name: pair[0] for name, pair in _COLOURS.items()}
"""The light set by name: for SVG attributes, which hold where a style sheet was taken away."""

DARK = {name: pair[1] for name, pair in _COLOURS.items()}
"""The dark set by name: for pictures that paint their own paper."""


def _variables(which: int, jupyter: bool) -> str:
    values = {name: pair[which] for name, pair in _COLOURS.items()}
    if jupyter:
        values |= {name: f"var({theirs},{values[name]})" for name, theirs in _JUPYTER.items()}
    return "".join(f"--gp-{name}:{value};" for name, value in values.items())


_SANS = "var(--jp-content-font-family,system-ui,sans-serif)"
_MONO = "var(--jp-code-font-family,ui-monospace,monospace)"
_CODE = f"font-family:{_MONO};font-size:.93em;color:inherit;background:none"

_RULES = {
    ".gpulab": f"{_variables(0, False)}color-scheme:light;color:var(--gp-ink);background:var(--gp-paper);"
    f"font-family:{_SANS};font-size:var(--gp-size);line-height:1.45;padding:2px 4px;"
    "--gp-size:var(--jp-content-font-size1,14px)",  # a teacher at a projector makes JupyterLab's larger
    "@media (prefers-color-scheme:dark)": f".gpulab{{{_variables(1, False)}color-scheme:dark}}",
    '[data-jp-theme-light="true"] .gpulab': f"{_variables(0, True)}color-scheme:light",
    '[data-jp-theme-light="false"] .gpulab': f"{_variables(1, True)}color-scheme:dark",
    ".gpulab .gp-line": "margin:3px 0;color:var(--gp-ink)",
    ".gpulab .gp-dim": "color:var(--gp-dim)",
    ".gpulab .gp-note": "border-left:4px solid var(--gp-plain);background:var(--gp-band);padding:6px 12px;"
    "margin:4px 0",
    ".gpulab .gp-note>b": "color:var(--gp-plain)",
    ".gpulab .gp-good": "border-left-color:var(--gp-good)",
    ".gpulab .gp-good>b": "color:var(--gp-good)",
    ".gpulab .gp-bad": "border-left-color:var(--gp-bad)",
    ".gpulab .gp-bad>b": "color:var(--gp-bad)",
    ".gpulab .gp-hint": "border-left-color:var(--gp-hint)",
    ".gpulab .gp-hint>b": "color:var(--gp-hint)",
    ".gpulab .gp-note pre": f"margin:4px 0;padding:0;border:0;overflow-x:auto;white-space:pre;{_CODE}",
    ".gpulab code": _CODE,
    ".gpulab ul": "margin:2px 0 2px 18px;padding:0",
    ".gpulab .gp-scroll": "overflow-x:auto;container-type:inline-size",
    ".gpulab table.gp-table": "border-collapse:collapse;margin:6px 0;font-size:.93em;color:var(--gp-ink)",
    # It stays in sight, and as wide as the window, when the table is scrolled.
    ".gpulab .gp-table caption": "caption-side:bottom;text-align:left;color:var(--gp-dim);padding:4px 0;"
    "font-size:.92em;position:sticky;left:0;max-width:100cqw;box-sizing:border-box",
    ".gpulab .gp-table tr:nth-child(n)": "background:none",
    ".gpulab .gp-table th,.gpulab .gp-table td": "text-align:left;padding:3px 10px;border:0;max-width:none;"
    "border-bottom:1px solid var(--gp-line);vertical-align:top;white-space:normal;overflow-wrap:normal;"
    "color:var(--gp-ink)",
    ".gpulab .gp-table .gp-long": "min-width:9em",  # else a narrow page makes a column of single words of it
    ".gpulab .gp-table th.gp-n,.gpulab .gp-table td.gp-n": "text-align:right;white-space:nowrap;"
    "font-variant-numeric:tabular-nums",
    ".gpulab details>summary": "cursor:pointer;color:var(--gp-dim)",
    ".gpulab progress": "width:16em;vertical-align:middle;accent-color:var(--gp-plain)",
    ".gpulab svg.gp-plane": "display:block;max-width:100%;height:auto;margin:6px 0",
    ".gpulab svg.gp-plane text": f"fill:var(--gp-ink);font-family:{_SANS}",
    ".gpulab .gp-edge-line": "stroke:var(--gp-edge)",
    ".gpulab .gp-mark-line": "stroke:var(--gp-mark)",
} | {
    f".gpulab .gp-{state}-fill": f"fill:var(--gp-{state})"
    for state in ("right", "wrong", "unwritten", "stray", "outside")
}

# The source with its figures, which stay in sight when a long line is scrolled, and the drawings below it.
_SOURCE_RULES = {
    ".gp-source": "overflow-x:auto;container-type:inline-size;border:1px solid var(--gp-line);margin:6px 0;"
    f"font-family:{_MONO};font-size:.9em;line-height:1.5",
    ".gp-rows": "width:max-content;min-width:100%",
    ".gp-row": "display:flex;list-style:none;color:var(--gp-ink);cursor:default",
    "summary.gp-row": "cursor:pointer;color:var(--gp-ink)",
    "summary.gp-row::-webkit-details-marker": "display:none",
    "summary.gp-row:hover .gp-code": "background:var(--gp-band)",
    ".gp-figs": "display:flex;flex:none;position:sticky;left:0;background:var(--gp-paper);"
    "border-right:1px solid var(--gp-line)",
    ".gp-no": "width:calc(4*var(--gp-size));padding-right:8px;text-align:right;flex:none;color:var(--gp-dim);"
    "box-sizing:border-box",
    "summary.gp-row .gp-no::before": 'content:"▸";float:left;padding-left:.5em;color:var(--gp-plain)',
    "details[open]>summary.gp-row .gp-no::before": 'content:"▾"',
    ".gp-fig": "width:calc(5*var(--gp-size));padding:0 8px;text-align:right;flex:none;box-sizing:border-box;"
    "border-left:1px solid var(--gp-paper);font-variant-numeric:tabular-nums",
    ".gp-share": "background:linear-gradient(90deg,var(--gp-share) var(--gp-part),#0000 var(--gp-part))",
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
    # Its letters can be read no smaller; a narrow page scrolls it.
    "svg.gp-warp": "display:block;min-width:640px;max-width:100%;height:auto;margin:6px 0 2px",
    "svg.gp-warp text": f"fill:var(--gp-ink);font-family:{_SANS}",
    ".gp-cells": "fill:var(--gp-outside);stroke:var(--gp-edge)",
    ".gp-used": "fill:var(--gp-plain)",
    ".gp-asked,.gpulab .gp-lanes": "fill:var(--gp-asked);stroke:var(--gp-edge)",
    ".gp-again": "fill:var(--gp-heat-3);stroke:var(--gp-edge)",
    ".gp-idle": "fill:var(--gp-outside);stroke:var(--gp-edge)",
    ".gp-lanes path:hover": "fill:var(--gp-paper);stroke:var(--gp-wrong);stroke-width:2.5",
    ".gp-swatch": "display:inline-block;padding:0 8px;border:1px solid var(--gp-line);font-size:.86em",
    ".gp-opens::before": 'content:"▸ ";color:var(--gp-plain)',
} | {
    f".gp-heat-{step}": f"background:var(--gp-heat-{step});color:var(--gp-heat-{step}-ink)"
    for step in range(1, 5)
}
_RULES |= {f".gpulab {selector}": body for selector, body in _SOURCE_RULES.items()} | {
    # On a phone the figures would stand in front of all of the source.
    "@container (max-width:600px)": ".gpulab .gp-source .gp-figs{position:static}"
    ".gpulab .gp-source .gp-fig{width:58px;padding:0 5px}.gpulab .gp-source .gp-no{width:44px}",
    # nbconvert's page hides what does not fit of a line of code. JupyterLab's body has another class.
    "body.jp-Notebook .jp-InputArea-editor": "overflow-x:auto",
    "@media (max-width:760px)": "body.jp-Notebook :is(.jp-InputArea,.jp-InputArea-editor,"
    ".jp-MarkdownOutput){display:block;width:auto}"
    # A lab's figure is 720 pixels wide: it keeps letters that can be read, and is scrolled.
    "body.jp-Notebook .jp-MarkdownOutput{overflow-x:auto}"
    "body.jp-Notebook .jp-MarkdownOutput img{max-width:none;min-width:540px}",
}

STYLE = "\n".join(f"{selector}{{{body}}}" for selector, body in _RULES.items())
"""The style sheet of everything in class `gpulab`: once in a page, or along with each `View`."""
