"""What is shown, as HTML and as plain text at once: notes, tables, and views made of them.

Nothing here imports IPython: the grading report is built from the same pieces.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape as _escape

from gpulab.views.theme import style_of

__all__ = ["View", "disclosure", "escape", "note", "paragraph", "stack", "table"]

_LONG = 28  # characters: a column with more in a cell is text, which wants some width


@dataclass(frozen=True, repr=False)
class View:
    """Something to show, as HTML and as plain text; IPython picks the one its front end can show.

    html: a fragment without the style sheet (`theme.STYLE`) and its frame; a report puts many of
    them into one `<div class="gpulab">`.
    """

    html: str = ""
    text: str = ""

    def _repr_html_(self) -> str:
        if not self.html:
            return ""
        return f'<div class="gpulab"><style>{style_of(self.html)}</style>{self.html}</div>'

    def __repr__(self) -> str:
        return self.text

    def __bool__(self) -> bool:
        return bool(self.html or self.text)


def stack(*views: View | None) -> View:
    """Several views, one below the other; empty ones are left out."""
    shown = [view for view in views if view]
    return View("".join(view.html for view in shown), "\n".join(view.text for view in shown))


def escape(text: object) -> str:
    """Text made safe for HTML, also inside an attribute."""
    return _escape(str(text), quote=True)


def paragraph(text: str, *, dim: bool = False) -> View:
    """A line of text."""
    return View(f'<div class="gp-line{" gp-dim" if dim else ""}">{escape(text)}</div>', text)


def note(hue: str, title: str, items: Iterable[str] = (), *, code: str = "") -> View:
    """A box with a coloured edge: a title, one line for each item, then text in code type.

    hue: "good", "bad", "hint" or "plain".
    """
    lines = list(items)
    body = f"<b>{escape(title)}</b>"
    if lines:
        body += "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul>"
    if code:
        body += f"<pre>{escape(code)}</pre>"
    indented = [f"  - {line}" for line in lines] + [f"  {line}" for line in code.splitlines()]
    text = "\n".join([title, *indented])
    return View(f'<div class="gp-note gp-{hue}">{body}</div>', text)


def disclosure(summary: str, view: View) -> View:
    """Something that is folded away until it is asked for; plain text shows it at once."""
    html = f"<details><summary>{escape(summary)}</summary>{view.html}</details>"
    return View(html, f"{summary}\n{view.text}")


def table(
    headers: Sequence[str],
    rows: Sequence[Sequence[object]],
    *,
    numeric: Iterable[int] = (),
    caption: str = "",
    hover: Mapping[tuple[int, int], str] | None = None,
) -> View:
    """A table. The `numeric` columns (counted from 0) are set to the right; the caption stands below.

    hover: what a cell says when the pointer rests on it, by (row, column) counted from 0, headers left out.
    """
    right = set(numeric)
    titles = hover or {}
    long = {i for i in range(len(headers)) if max((len(str(row[i])) for row in rows), default=0) > _LONG}
    kinds = {i: "gp-n" if i in right else "gp-long" for i in right | long}

    def cells(tag: str, row: Sequence[object], number: int = -1) -> str:
        opening = [f'<{tag} class="{kinds[i]}"' if i in kinds else f"<{tag}" for i in range(len(row))]
        found = [titles.get((number, i), "") for i in range(len(row))]
        ends = [f' title="{escape(title)}">' if title else ">" for title in found]
        return "".join(
            f"{start}{end}{escape(cell)}</{tag}>" for start, end, cell in zip(opening, ends, row, strict=True)
        )

    foot = f"<caption>{escape(caption)}</caption>" if caption else ""
    head = f"<thead><tr>{cells('th', headers)}</tr></thead>"
    body = "".join(f"<tr>{cells('td', row, number)}</tr>" for number, row in enumerate(rows))
    # A table wider than its page scrolls by itself, and its paper goes with it.
    html = f'<div class="gp-scroll"><table class="gp-table">{foot}{head}<tbody>{body}</tbody></table></div>'
    return View(html, _table_text(headers, rows, right, caption))


def _table_text(
    headers: Sequence[str], rows: Sequence[Sequence[object]], right: set[int], caption: str
) -> str:
    grid = [[str(cell) for cell in row] for row in (headers, *rows)]
    widths = [max(len(row[i]) for row in grid) for i in range(len(headers))]

    def line(row: Sequence[str]) -> str:
        columns = enumerate(zip(row, widths, strict=True))
        return "  ".join(c.rjust(w) if i in right else c.ljust(w) for i, (c, w) in columns).rstrip()

    lines = [line(grid[0]), "  ".join("-" * w for w in widths), *map(line, grid[1:])]
    return "\n".join(lines + ([caption] if caption else []))
