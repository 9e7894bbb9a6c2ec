"""The table of instructions in docs/simulator.md."""

from __future__ import annotations

import importlib.util
from pathlib import Path


def test_table_of_instructions_is_up_to_date() -> None:
    path = Path(__file__).parents[2] / "docs" / "instructions.py"
    spec = importlib.util.spec_from_file_location("instructions", path)
    assert spec is not None
    assert spec.loader is not None
    instructions = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(instructions)
    page = instructions.PAGE.read_text(encoding="utf-8")
    assert page == instructions.page(), "run: python docs/instructions.py"
