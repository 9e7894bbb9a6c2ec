"""The JupyterLab extension: its committed build matches its sources, and is installed with gpulab."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "labextension"
INSTALLED = Path(sysconfig.get_path("data")) / "share" / "jupyter" / "labextensions" / "gpulab"


def contents(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def read(name: str) -> dict:
    return json.loads((SOURCE / name).read_text(encoding="utf-8"))


def test_build_matches_its_sources() -> None:
    files = [SOURCE / name for name in ("package.json", "package-lock.json", "tsconfig.json")]
    files += [p for folder in ("src", "prebuilt") for p in (SOURCE / folder).rglob("*") if p.is_file()]
    digests = {p.relative_to(SOURCE).as_posix(): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}
    lines = (SOURCE / "prebuilt.sha256").read_text(encoding="utf-8").splitlines()
    recorded = {name: digest for digest, name in (line.split() for line in lines)}
    assert digests == recorded, "rebuild it: npm ci && npm run build, in labextension/"


def test_installed_extension_equals_the_build() -> None:
    assert INSTALLED.is_dir(), "install gpulab with make"
    installed = contents(INSTALLED)
    assert json.loads(installed.pop("install.json"))["packageName"] == "gpulab"
    assert installed == contents(SOURCE / "prebuilt"), "reinstall gpulab with make, which copies the build"


@pytest.mark.slow
def test_jupyterlab_lists_the_extension_as_compatible() -> None:
    command = [sys.executable, "-m", "jupyterlab.labextensions", "list"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    listed = re.sub(r"\x1b\[\d*m", "", done.stdout + done.stderr)
    assert re.search(r"^\s+gpulab v\S+ enabled OK", listed, re.MULTILINE), listed


def test_extension_has_the_version_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert read("package.json")["version"] == read("package-lock.json")["version"] == project["version"]


def test_lock_file_has_hashes_and_no_urls() -> None:
    packages = {path: package for path, package in read("package-lock.json")["packages"].items() if path}
    assert {path for path, package in packages.items() if "integrity" not in package} == set()
    assert {path for path, package in packages.items() if "resolved" in package} == set()
