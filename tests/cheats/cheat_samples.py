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
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from gpulab.grading.release.sample_class import SampleSubmission, read_sample, submit_sample

__all__ = ["CONTROL", "LABS", "Cheat", "read_cheats", "submit_cheat"]

FOLDER = Path(__file__).parent
LABS = ("00_devicequery", "01_stencil", "02_matmul", "03_puzzles")
CONTROL = "control"


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
