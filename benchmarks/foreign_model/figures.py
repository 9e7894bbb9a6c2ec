"""The measurements of the launches on an H200: `benchmarks/figures/foreign-h200.json.xz`."""

from __future__ import annotations

import json
import lzma
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.model_errors import MEASURED

__all__ = ["FIGURES", "measured", "store"]

FIGURES = MEASURED.with_name("foreign-h200.json.xz")


@cache
def measured() -> dict[str, Any]:
    """Return device, driver, compiler and ncu, and in "launches" the measurements by label."""
    content: dict[str, Any] = _read(FIGURES)
    content["launches"] = {each["label"]: each for each in content["launches"]}
    return content


def store(result: Path) -> None:
    """Add a result of `benchmarks.foreign_model.measure` to the figures.

    A time that was measured before is kept, so that a second run can add metrics. Launches of the labs
    replace the times of `model-h200.json.xz`; their metrics stay if there are no new ones.
    """
    new = json.loads(result.read_text(encoding="utf-8"))
    entries = {each["label"]: each for each in _read(FIGURES)["launches"]} if FIGURES.exists() else {}
    for each in new["foreign"]:
        known = entries.setdefault(each["label"], each)
        known.update({name: value for name, value in each.items() if name not in known})
    head = {name: new[name] for name in ("gpu", "nvrtc", "ncu")}
    head |= {"micro": _read(FIGURES).get("micro", {})} if FIGURES.exists() else {}
    _write(FIGURES, {**head, "launches": list(entries.values())})

    labs = _read(MEASURED)
    stored = {each["label"]: each for each in labs["launches"]}
    for each in new["labs"]:
        entry = stored[each["label"]]
        if "ncu" in entry:
            entry.setdefault("ncu_nvrtc", "13.0")  # the compiler of the first measurement
        if "ncu" in each:
            entry["ncu_nvrtc"] = new["nvrtc"]
        entry.update(each, nvrtc=new["nvrtc"])
    _write(MEASURED, labs)


def _read(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(lzma.decompress(path.read_bytes()))
    return content


def _write(path: Path, content: dict[str, Any]) -> None:
    path.write_bytes(lzma.compress(json.dumps(content, indent=1).encode(), preset=9 | lzma.PRESET_EXTREME))
