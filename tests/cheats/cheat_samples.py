"""Cheating and honest submissions: overlays of a released notebook, as the sample class has them.

`tests/cheats/LAB/NAME/` has the files of a sample submission (see `gpulab.grading.release.sample_class`). Its
`expected.toml` also names the `kind`: "control" for an honest submission. `open` says why a submission still
earns points that it should not. `edit.py` may define

    edit(notebook)    change the notebook, as plain data, after the overlay was applied
    place(folder)     change the folder that is submitted, such as by symbolic links
"""

from __future__ import annotations

import json
import runpy
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from gpulab.grading.judge.records import JudgedSubmission
from gpulab.grading.release.sample_class import (
    SampleSubmission,
    read_sample,
    score_differences,
    submit_sample,
)

__all__ = ["CONTROL", "GRADED_LAB", "LABS", "Cheat", "faults_of", "read_cheats", "submit_cheat"]

FOLDER = Path(__file__).parent
LABS = ("00_devicequery", "01_stencil", "02_matmul", "03_puzzles")
GRADED_LAB = "01_stencil"  # the lab whose cheats are also graded as a class
CONTROL = "control"
# Kinds of cheats that attack the notebook, the folder, the gradebook or the pages.
PIPELINE_KINDS = {"notebook edited", "markup", "files beside the notebook", "files written", "startup file"}
# Elements and attributes that no text of a submission may add to a page.
FORBIDDEN_ELEMENTS = {"script", "iframe", "object", "embed", "img", "link", "meta", "base", "form"}
MATHJAX_MARK = r"\href{javascript"


@dataclass(frozen=True)
class Cheat:
    """One submission, which is a cheat or a control.

    Attributes
    ----------
    lab : str
        The assignment.
    folder : Path
        The folder of the submission.
    kind : str
        What is attacked, such as "sys.modules patched"; `CONTROL` for an honest submission.
    fails : bool
        A cell that the submission adds raises an error. Otherwise all of them must succeed, so that no cheat
        passes only because it has a mistake.
    open : str
        Why the points are not as expected yet; empty otherwise.
    """

    lab: str
    folder: Path
    kind: str
    fails: bool
    open: str

    @property
    def name(self) -> str:
        return f"{self.lab}/{self.folder.name}"

    @property
    def is_control(self) -> bool:
        return self.kind == CONTROL

    @property
    def concerns_the_pipeline(self) -> bool:
        """True if `gpulab grade` grades the submission, and not the judge alone."""
        if self.lab != GRADED_LAB or self.open:
            return False
        return bool(self.functions) or self.sample.files is not None or self.kind in PIPELINE_KINDS

    @cached_property
    def sample(self) -> SampleSubmission:
        """The overlay and the expected points."""
        sample = read_sample(self.folder)
        return replace(
            sample, answers={name: text for name, text in sample.answers.items() if name != "edit"}
        )

    @cached_property
    def functions(self) -> dict[str, Any]:
        """The definitions of `edit.py`."""
        path = self.folder / "edit.py"
        return runpy.run_path(str(path)) if path.is_file() else {}


def read_cheats(lab: str) -> list[Cheat]:
    """Return the submissions of a lab, sorted by name."""
    cheats = []
    for expected in sorted((FOLDER / lab).glob("*/expected.toml")):
        table = tomllib.loads(expected.read_text(encoding="utf-8"))
        fails, reason = bool(table.get("fails", False)), str(table.get("open", ""))
        cheats.append(Cheat(lab, expected.parent, str(table["kind"]), fails, reason))
    return cheats


def submit_cheat(cheat: Cheat, released: Path, submitted: Path) -> Path:
    """Write the notebook of a submission below nbgrader's folder `submitted`, and return its path."""
    path = submit_sample(cheat.sample, released, submitted)
    edit: Callable[[dict[str, Any]], None] | None = cheat.functions.get("edit")
    if edit is not None:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        edit(notebook)
        path.write_text(json.dumps(notebook), encoding="utf-8")
    place: Callable[[Path], None] | None = cheat.functions.get("place")
    if place is not None:
        place(path.parent)
    return path


def faults_of(cheat: Cheat, verdict: JudgedSubmission) -> Iterator[str]:
    """Yield where a verdict is not as it should be: an error, other points, or harmful markup."""
    if verdict.error:
        yield verdict.error
    yield from score_differences(cheat.sample, verdict.scores)
    if not cheat.fails:
        yield from errors_of_added_cells(cheat, verdict)
    yield from harmful_markup(verdict)


def errors_of_added_cells(cheat: Cheat, verdict: JudgedSubmission) -> list[str]:
    """Return the errors of the cells that the submission adds to the notebook."""
    added = {*cheat.sample.first, *cheat.sample.last}
    return [
        f"{output['ename']}: {output['evalue']}"
        for cell in verdict.page
        if cell.source in added
        for output in cell.outputs
        if output["output_type"] == "error"
    ]


def harmful_markup(verdict: JudgedSubmission) -> Iterator[str]:
    """Yield the markup in outputs of the judge that can only come from the submission."""
    for cell in verdict.cells:
        for output in cell.outputs:
            html = str(output.get("data", {}).get("text/html", ""))
            parser = _HarmParser()
            parser.feed(html)
            yield from (f"{cell.grade_id}: {harm}" for harm in parser.harm)
            if MATHJAX_MARK in html:
                yield f"{cell.grade_id}: {MATHJAX_MARK}"


class _HarmParser(HTMLParser):
    """A parser that notes elements and attributes that run code or load a file."""

    def __init__(self) -> None:
        super().__init__()
        self.harm: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in FORBIDDEN_ELEMENTS:
            self.harm.append(f"<{tag}>")
        for name, value in attrs:
            if name.startswith("on") or (value or "").strip().lower().startswith("javascript:"):
                self.harm.append(f"{name}={value}")

    def handle_startendtag(self, tag: str, attrs: list[Any]) -> None:
        self.handle_starttag(tag, attrs)
