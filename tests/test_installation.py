"""Commands that complete an installation name where this copy came from, and never an index."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpulab import installation

METADATA = """\
Metadata-Version: 2.4
Name: gpulab
Version: 0.2.0
Requires-Dist: numpy>=1.26
Requires-Dist: unheard-of<3,>=2.1; sys_platform != 'nonesuch'
Requires-Dist: numpy>=1.26; extra == 'lab'
Requires-Dist: not-installed[binary]>=1.5; extra == 'lab'
Requires-Dist: somewhere-else>=1; extra == 'lab' and sys_platform == 'nonesuch'
Provides-Extra: lab
"""

Installed = Callable[[dict[str, Any] | None], None]


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Installed:
    """Return a function that installs a gpulab with METADATA, as if from an origin (PEP 610)."""

    def install(origin: dict[str, Any] | None) -> None:
        folder = tmp_path / "site" / "gpulab-0.2.0.dist-info"
        folder.mkdir(parents=True)
        (folder / "METADATA").write_text(METADATA, encoding="utf-8")
        if origin is not None:
            (folder / "direct_url.json").write_text(json.dumps(origin), encoding="utf-8")
        monkeypatch.syspath_prepend(folder.parent)

    return install


@pytest.mark.parametrize(
    ("details", "arguments"),
    [
        ({"dir_info": {}}, "'{}[lab]'"),
        ({"dir_info": {"editable": True}}, "--editable '{}[lab]'"),
        ({"archive_info": {}}, "'{}[lab]'"),
    ],
    ids=["folder", "editable", "wheel"],
)
def test_folder_or_file_is_installed_again(
    details: dict[str, Any], arguments: str, installed: Installed, tmp_path: Path
) -> None:
    origin = tmp_path / "a copy"
    origin.mkdir()
    installed({"url": origin.as_uri(), **details})
    assert installation.install_command("lab") == f"python -m pip install {arguments.format(origin)}"


@pytest.mark.parametrize(
    ("origin", "argument"),
    [
        (
            {"url": "https://git.example/gpulab", "vcs_info": {"vcs": "git", "commit_id": "1a2b"}},
            "gpulab[lab] @ git+https://git.example/gpulab@1a2b",
        ),
        (
            {"url": "https://example.org/gpulab-0.2.0-py3-none-any.whl", "archive_info": {}},
            "gpulab[lab] @ https://example.org/gpulab-0.2.0-py3-none-any.whl",
        ),
    ],
    ids=["repository", "address"],
)
def test_address_is_named(origin: dict[str, Any], argument: str, installed: Installed) -> None:
    installed(origin)
    assert installation.install_command("lab") == f"python -m pip install '{argument}'"


@pytest.mark.parametrize(
    "origin",
    [None, {"url": "file:///no/such/folder", "dir_info": {}}],
    ids=["index", "folder that is gone"],
)
def test_missing_packages_are_named_if_the_origin_is_not_known(
    origin: dict[str, Any] | None, installed: Installed
) -> None:
    installed(origin)
    assert installation.install_command("lab") == "python -m pip install 'not-installed[binary]>=1.5'"


def test_copy_that_was_not_installed_is_installed_from_its_repository(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.path", [])  # no metadata is found
    assert installation.install_command("lab").startswith("python -m pip install '.[lab]'")
    assert installation.package_command("llvmlite") == "python -m pip install llvmlite"


def test_package_has_the_required_version(installed: Installed) -> None:
    installed(None)
    assert installation.package_command("unheard-of") == "python -m pip install 'unheard-of<3,>=2.1'"


def test_commands_are_quoted_for_windows(installed: Installed, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(None)
    monkeypatch.setattr("sys.platform", "win32")
    assert installation.package_command("numpy") == 'python -m pip install "numpy>=1.26"'
