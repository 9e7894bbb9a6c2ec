"""Views: notes, tables and stacks of views, each as HTML and as plain text.

Nothing here imports IPython, because the grading report is built from the same views.

Examples
--------
>>> import gpulab
>>> gpulab.html.table(("block", "GFLOPS"), [("32x1", 107.4), ("64x1", 163.8)], numeric=[1])
block  GFLOPS
-----  ------
32x1    107.4
64x1    163.8
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape as _escape

from gpulab.views.theme import style_of

__all__ = [
    "View",
    "card",
    "disclosure",
    "escape",
    "filled_columns",
    "note",
    "paragraph",
    "preformatted",
    "stack",
    "table",
]

_LONG = 28  # characters; a column with a longer cell holds prose and gets a minimum width
_SHORT = 16  # characters; a column without a longer cell holds names, which do not break


@dataclass(frozen=True, repr=False)
class View:
    """A piece of output as HTML and as plain text; IPython picks the form that its front end supports.

    Attributes
    ----------
    html : str
        A fragment without the style sheet (`theme.STYLE`) and its frame; a report puts many fragments into
        one ``<div class="gpulab">``.
    text : str
        The same as plain text.
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
    """Place views one below the other.

    Parameters
    ----------
    *views : View or None
        The views; None and empty ones are left out.

    Returns
    -------
    View
        All of them.
    """
    shown = [view for view in views if view]
    return View("".join(view.html for view in shown), "\n".join(view.text for view in shown))


def escape(text: object) -> str:
    """Replace the characters that have a meaning in HTML, as `html.escape` does.

    Parameters
    ----------
    text : object
        An object, whose text (`str`) is used.

    Returns
    -------
    str
        Text that is safe in HTML, also inside an attribute.
    """
    return _escape(str(text), quote=True)


def paragraph(text: str, *, dim: bool = False) -> View:
    """Show a line of text.

    Parameters
    ----------
    text : str
        Plain text.
    dim : bool
        Use the colour of captions.

    Returns
    -------
    View
        The line.
    """
    return View(f'<div class="gp-line{" gp-dim" if dim else ""}">{escape(text)}</div>', text)


def note(hue: str, title: str, items: Iterable[str] = (), *, code: str = "") -> View:
    """Show a box with a coloured edge: a title, a line for each item, then preformatted text.

    Parameters
    ----------
    hue : {"good", "bad", "hint", "plain"}
        The meaning of the box, which selects the colour of its edge.
    title : str
        The title.
    items : iterable of str
        The lines of a list below the title.
    code : str
        Text below the list that keeps its spaces and line breaks.

    Returns
    -------
    View
        The box.
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


def card(hue: str, title: str, *views: View | None) -> View:
    """Show a box with a coloured edge: a title, and other views below it.

    Parameters
    ----------
    hue, title
        As for `note`.
    *views : View or None
        The views below the title; None and empty ones are left out.

    Returns
    -------
    View
        The box.
    """
    inner = stack(*views)
    html = f'<div class="gp-note gp-{hue}"><b>{escape(title)}</b>{inner.html}</div>'
    return View(html, f"{title}\n{inner.text}" if inner.text else title)


def preformatted(text: str) -> View:
    """Show text that keeps its spaces and line breaks.

    Parameters
    ----------
    text : str
        Plain text.

    Returns
    -------
    View
        The text in a font of fixed width; indented in plain text.
    """
    return View(f"<pre>{escape(text)}</pre>", "\n".join(f"  {line}" for line in text.splitlines()))


def disclosure(summary: str, view: View) -> View:
    """Fold a view until its summary is clicked; plain text shows it unfolded.

    Parameters
    ----------
    summary : str
        The line that is always visible.
    view : View
        The folded view.

    Returns
    -------
    View
        The summary with the view.
    """
    html = f"<details><summary>{escape(summary)}</summary>{view.html}</details>"
    return View(html, f"{summary}\n{view.text}")


def filled_columns(rows: Iterable[Sequence[object]]) -> list[int]:
    """Return the columns in which any row has a value: neither None nor an empty text.

    Parameters
    ----------
    rows : iterable of sequence
        Rows of equal length.

    Returns
    -------
    list of int
        The indices of the columns, from 0.
    """
    columns = enumerate(zip(*rows, strict=True))
    return [index for index, values in columns if any(value not in (None, "") for value in values)]


def table(
    headers: Sequence[str],
    rows: Sequence[Sequence[object]],
    *,
    numeric: Iterable[int] = (),
    caption: str = "",
    hover: Mapping[tuple[int, int], str] | None = None,
    bars: Mapping[tuple[int, int], float] | None = None,
) -> View:
    """Show a table.

    Parameters
    ----------
    headers : sequence of str
        The headers of the columns.
    rows : sequence of sequence
        The rows below the header, each with one object per column; their text (`str`) is shown.
    numeric : iterable of int
        Indices of the columns that are aligned to the right.
    caption : str
        Text below the table.
    hover : mapping of (int, int) to str, optional
        The tooltips of cells by row and column, from 0 and without the header.
    bars : mapping of (int, int) to float, optional
        The lengths of bars in cells by row and column, in percent of the cell's width.

    Returns
    -------
    View
        The table.
    """
    right, titles, lengths = set(numeric), hover or {}, bars or {}
    longest = [max((len(str(row[i])) for row in rows), default=0) for i in range(len(headers))]

    def cell(tag: str, text: object, column: int, row: int = -1) -> str:
        names, style = [], ""
        if column in right:
            names.append("gp-n")
        elif longest[column] > _LONG:
            names.append("gp-long")
        elif longest[column] <= _SHORT and tag == "td" and " " in str(text):
            names.append("gp-word")
        if (row, column) in lengths:
            names.append("gp-share")
            style = f' style="--gp-part:{lengths[row, column]:.1f}%"'
        kind = f' class="{" ".join(names)}"' if names else ""
        title = f' title="{escape(titles[row, column])}"' if titles.get((row, column)) else ""
        shown = escape(text)
        if tag == "th":
            shown = shown.replace("/", "/<wbr>")
        return f"<{tag}{kind}{style}{title}>{shown}</{tag}>"

    head = "".join(cell("th", text, column) for column, text in enumerate(headers))
    body = "".join(
        f"<tr>{''.join(cell('td', text, column, number) for column, text in enumerate(row))}</tr>"
        for number, row in enumerate(rows)
    )
    foot = f"<caption>{escape(caption)}</caption>" if caption else ""
    # A table wider than the page scrolls by itself, together with its background.
    html = (
        f'<div class="gp-scroll"><table class="gp-table">{foot}<thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )
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
