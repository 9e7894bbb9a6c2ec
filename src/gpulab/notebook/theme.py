"""Colours and the style sheet: readable in light and dark, in a notebook, an export and a report.

Colours come in two sets. JupyterLab says which one is on (`data-jp-theme-light` on the body, also
in nbconvert's lab export); a plain page follows the reader's system. Each piece paints its own
background, so that text and background always belong to one set, whatever page is around them.
"""

from __future__ import annotations

__all__ = ["LIGHT", "STYLE"]

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
# In JupyterLab ink and paper are the theme's own, so that custom themes fit too.
_JUPYTER = {
    "ink": "--jp-content-font-color1",
    "dim": "--jp-content-font-color2",
    "paper": "--jp-layout-color0",
    "band": "--jp-layout-color1",
    "line": "--jp-border-color2",
}

LIGHT = {name: pair[0] for name, pair in (_INK | _SIGNS).items()}
"""The light set by name: for SVG attributes, which hold where a style sheet was taken away."""


def _variables(which: int, jupyter: bool) -> str:
    values = {name: pair[which] for name, pair in (_INK | _SIGNS).items()}
    if jupyter:
        values |= {name: f"var({theirs},{values[name]})" for name, theirs in _JUPYTER.items()}
    return "".join(f"--gp-{name}:{value};" for name, value in values.items())


_SANS = "var(--jp-content-font-family,system-ui,sans-serif)"
_MONO = "var(--jp-code-font-family,ui-monospace,monospace)"
_CODE = f"font-family:{_MONO};font-size:13px;color:inherit;background:none"

_RULES = {
    ".gpulab": f"{_variables(0, False)}color-scheme:light;color:var(--gp-ink);background:var(--gp-paper);"
    f"font-family:{_SANS};font-size:14px;line-height:1.45;padding:2px 4px",
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
    ".gpulab table.gp-table": "border-collapse:collapse;margin:6px 0;font-size:13px;color:var(--gp-ink)",
    ".gpulab .gp-table caption": "caption-side:bottom;text-align:left;color:var(--gp-dim);padding:4px 0;"
    "font-size:12px",
    ".gpulab .gp-table tr:nth-child(n)": "background:none",
    ".gpulab .gp-table th,.gpulab .gp-table td": "text-align:left;padding:3px 10px;border:0;max-width:none;"
    "border-bottom:1px solid var(--gp-line);vertical-align:top;white-space:normal;color:var(--gp-ink)",
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

STYLE = "\n".join(f"{selector}{{{body}}}" for selector, body in _RULES.items())
"""The style sheet of everything in class `gpulab`: once in a page, or along with each `View`."""
