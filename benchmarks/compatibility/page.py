"""The stored outcomes of `benchmarks.compatibility`, and the text of docs/compatibility.md."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from textwrap import wrap

from benchmarks.markdown import wide_paragraph

__all__ = ["FIGURES", "PAGE", "Row", "Rows", "page", "summary", "write_page"]

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "compatibility.md"
FIGURES = ROOT / "benchmarks" / "figures" / "compatibility.json"
ADDRESSES = {
    "SGEMM_CUDA": ("https://github.com/siboehm/SGEMM_CUDA", "60cba6f"),
    "llm.c": ("https://github.com/karpathy/llm.c", "f1e2ace"),
    "cuda-samples": ("https://github.com/NVIDIA/cuda-samples", "c94ff36"),
    "rodinia": ("https://github.com/yuhc/gpu-rodinia", "9c10d3e"),
}
_COLUMNS = {
    "right": ("right", "explained"),
    "refused by name": ("refused",),
    "no launch declared": ("not declared",),
    "false alarm": ("alarm",),
    "ended early": ("stopped", "fault"),
    "wrong": ("wrong",),
}


@dataclass(frozen=True)
class Row:
    """The outcome of one launch; `checking.Outcome` explains the status."""

    suite: str
    file: str
    name: str
    instance: str
    status: str
    message: str = ""

    @property
    def key(self) -> tuple[str, str, str, str]:
        return self.suite, self.file, self.name, self.instance

    @property
    def is_right(self) -> bool:
        return self.status in _COLUMNS["right"]


@dataclass
class Rows:
    """The outcomes of all launches, by suite, file, kernel and instance."""

    by_key: dict[tuple[str, str, str, str], Row] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Rows:
        if not path.exists():
            return cls()
        rows = (Row(**row) for row in json.loads(path.read_text(encoding="utf-8")))
        return cls({row.key: row for row in rows})

    def store(self, path: Path) -> None:
        """Write the outcomes, one line for each launch."""
        rows = ",\n".join(
            json.dumps({k: v for k, v in asdict(row).items() if v or k != "message"}) for row in self
        )
        part = path.with_suffix(".part")
        part.write_text(f"[\n{rows}\n]\n", encoding="utf-8")
        part.replace(path)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.by_key.values())

    def stored(self, suite: str, file: str, name: str, instance: str) -> Row | None:
        return self.by_key.get((suite, file, name, instance))

    def add(self, row: Row) -> None:
        self.by_key[row.key] = row

    def only(self, launches: Iterable[tuple[str, str, str, str]]) -> Rows:
        """Return the rows of these launches in their order, and those of other repositories."""
        keys = list(launches)
        suites = {key[0] for key in keys}
        kept = [self.by_key[key] for key in keys] + [row for row in self if row.suite not in suites]
        kept.sort(key=lambda row: list(ADDRESSES).index(row.suite))
        return Rows({row.key: row for row in kept})


def summary(rows: Rows) -> list[str]:
    """Return the table of counts, in Markdown."""
    lines = [f"| repository | launches | {' | '.join(_COLUMNS)} |", "|---" * (len(_COLUMNS) + 2) + "|"]
    for suite in [*ADDRESSES, ""]:
        chosen = [row for row in rows if suite in ("", row.suite)]
        counts = Counter(row.status for row in chosen)
        cells = [sum(counts[status] for status in statuses) for statuses in _COLUMNS.values()]
        lines.append(f"| {suite or 'all'} | {len(chosen)} | {' | '.join(map(str, cells))} |")
    return lines


def write_page(rows: Rows) -> None:
    """Write docs/compatibility.md."""
    PAGE.write_text(page(rows), encoding="utf-8")
    print(f"{len(rows.by_key)} launches in {PAGE.relative_to(ROOT)}")


def page(rows: Rows) -> str:
    """Return the page in Markdown."""
    right = sum(row.is_right for row in rows)
    total = len(rows.by_key)
    listed = {row.key[:3] for row in rows}
    declared = len({row.key[:3] for row in rows if row.status != "not declared"})
    whole = len(listed - {row.key[:3] for row in rows if not row.is_right})
    links = ", ".join(f"[{name}]({address}) ({commit})" for name, (address, commit) in ADDRESSES.items())
    lines = [
        "# Kernels of other people",
        "",
        *wide_paragraph(f"""
            This page lists every `__global__` function of four repositories: {links}; of llm.c those of
            `dev/cuda`, of rodinia those of `cuda`. There are {len(listed)} functions, and for {declared} of
            them launches are declared. Each of these was extracted as `gpulab extract` does it, compiled, and
            launched on the simulator with arguments of our own, once plainly and once under
            `gpulab.sanitize`, as far as it is not refused. A template is launched once for each instance
            that is declared. The values of all arrays after the launch were compared with those of a
            reference in NumPy.
            {right} of {total} launches ({100 * right / max(total, 1):.1f} %) are right, and all launches of
            {whole} of the {len(listed)} functions. Nothing of the repositories is part of gpulab."""),
        *wide_paragraph("""
            A declaration can give a macro of the source another value, which makes a launch small, or remove
            it, as `ENABLE_BF16` of llm.c where the values are to be floats. It defines macros that the
            repository's build or its host code would define; types of DirectX, which is not part of the
            repositories, are such macros, too. Where a kernel needs an object or the address of a function
            that another kernel or the host code stores, a kernel of our own stores it first."""),
        *wide_paragraph("Written by `python -m benchmarks.compatibility FOLDER...`; do not edit it."),
        "## Summary",
        "",
        *summary(rows),
        "",
        *wide_paragraph("""
            "Right" counts launches with right values on which the sanitizer reports nothing, or on which its
            reports are right; the reasons are below. "Ended early" counts launches that ended with an error
            of a kernel or at the time limit. A function without a declared launch counts as refused."""),
    ]
    explained = [row for row in rows if row.status == "explained"]
    if explained:
        lines += ["## True reports of the sanitizer", ""]
        lines += [
            line for row in explained for line in _item(f"`{_label(row)}` in {row.file}: {row.message}")
        ]
        lines.append("")
    for suite in ADDRESSES:
        lines += [f"## {suite}", "", "| file | kernel | outcome |", "|---|---|---|"]
        for row in rows:
            if row.suite == suite:
                outcome = "right" if row.status == "explained" else row.status
                message = f": {row.message}" if row.message and row.status != "explained" else ""
                lines.append(f"| {row.file} | {_cell(_label(row))} | {outcome}{_cell(message, code=False)} |")
        lines.append("")
    return "\n".join(lines).rstrip("\n") + "\n"


def _label(row: Row) -> str:
    return (
        row.name if not row.instance else row.instance if "<" in row.instance else f"{row.name}{row.instance}"
    )


def _cell(text: str, code: bool = True) -> str:
    text = text.replace("|", "\\|")
    return f"`{text}`" if code else text.replace("<", "&lt;").replace("*", "\\*")


def _item(text: str) -> list[str]:
    return wrap(text, 118, initial_indent="- ", subsequent_indent="  ")
