"""`import gpulab` loads no large package before it is needed (`make bench` measures the time)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("IPython", "llvmlite", "cupy", "plotly", "ipywidgets", "nbgrader", "cuda.bindings", "rich")


@pytest.fixture(scope="module")
def loaded() -> set[str]:
    """The modules of a new interpreter after `import gpulab`."""
    code = "import sys, json, gpulab; print(json.dumps(list(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(run.stdout))


@pytest.mark.parametrize("name", HEAVY)
def test_import_gpulab_does_not_load(name: str, loaded: set[str]) -> None:
    assert name not in loaded


def test_instructor_commands_do_not_compile_grammars_of_addresses(tmp_path: Path) -> None:
    pytest.importorskip("nbgrader", reason="grading needs the lab extra")
    code = "import sys; from gpulab.cli import main; main(sys.argv[1:]); print('lark' in sys.modules)"
    command = [sys.executable, "-c", code, "grade", "--course", str(tmp_path)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False"]
