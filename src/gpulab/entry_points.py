"""Entry points of installed packages, with which a package adds problems and exercises to gpulab."""

from __future__ import annotations

import tomllib
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

__all__ = ["entry_points_of"]

SOURCE_TREE = Path(__file__).parents[2]


def entry_points_of(group: str) -> tuple[EntryPoint, ...]:
    """Return the entry points of a group, each once.

    gpulab's own are found in its source tree too, which need not be installed.
    """
    return tuple(dict.fromkeys([*entry_points(group=group), *_of_source_tree(group)]))


def _of_source_tree(group: str) -> list[EntryPoint]:
    try:
        declared = tomllib.loads((SOURCE_TREE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    except (OSError, KeyError, ValueError):
        return []
    if declared["name"] != "gpulab":
        return []
    return [EntryPoint(name, value, group) for name, value in declared["entry-points"][group].items()]
