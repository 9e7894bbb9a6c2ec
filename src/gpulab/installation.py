"""How this copy of gpulab was installed, and the commands that complete it.

gpulab is on no package index, where its name could become somebody else's: no command asks an index for it.
"""

from __future__ import annotations

import json
import shlex
import sys
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import url2pathname

if TYPE_CHECKING:
    from packaging.requirements import Requirement

__all__ = ["install_command", "outdated_packages", "package_command"]


def install_command(extra: str) -> str:
    """Return the command that installs an extra, such as "lab", of this copy of gpulab.

    It names the folder, file or address that gpulab was installed from. If that is not known, or no longer
    there, it names the packages of the extra that are missing.
    """
    if origin := _origin(extra):
        return _pip(*origin)
    packages = _requirements(extra)
    if missing := [package for package in packages if not _is_satisfied(package)]:
        packages = missing
    if packages:
        return _pip(*map(_specification, packages))
    return f"{_pip(f'.[{extra}]')}  # in the folder of gpulab's repository"


def package_command(*names: str) -> str:
    """Return the command that installs packages of the core, in the versions that gpulab requires."""
    required = {package.name: _specification(package) for package in _requirements("")}
    return _pip(*(required.get(name, name) for name in names))


def outdated_packages() -> dict[str, str]:
    """Return the packages that are installed in a version which gpulab does not accept.

    The result has the installed version by the requirement, such as {"llvmlite>=0.48": "0.47.0"}.
    """
    packages = {package.name: package for extra in ("", "lab") for package in _requirements(extra)}
    installed = {name: _version(name) for name in packages}
    return {
        _specification(package): installed[name]
        for name, package in packages.items()
        if installed[name] and not _is_satisfied(package)
    }


def _origin(extra: str) -> tuple[str, ...]:
    """Return pip's arguments for what gpulab was installed from, as its installer noted; () if not known."""
    try:
        text = distribution("gpulab").read_text("direct_url.json")
    except PackageNotFoundError:
        return ()
    if not text:  # it came from an index, which is not recorded
        return ()

    origin = json.loads(text)
    url = origin["url"]
    if "vcs_info" in origin:
        return ("gpulab[{}] @ {vcs}+{}@{commit_id}".format(extra, url, **origin["vcs_info"]),)
    if not url.startswith("file:"):
        return (f"gpulab[{extra}] @ {url}",)
    path = Path(url2pathname(urlsplit(url).path))
    if not path.exists():
        return ()
    editable = ["--editable"] if origin.get("dir_info", {}).get("editable") else []
    return (*editable, f"{path}[{extra}]")


def _requirements(extra: str) -> list[Requirement]:
    """Return the packages of an extra, or those of the core for "", that this system needs."""
    try:
        lines = distribution("gpulab").requires or ()
        from packaging.requirements import Requirement  # the import takes a while, and only messages need it
    except ImportError:  # this copy was not installed, or not with the packages that it needs
        return []
    packages = [Requirement(line) for line in lines]

    def applies(package: Requirement, extra: str) -> bool:
        return package.marker is None or package.marker.evaluate({"extra": extra})

    return [
        package for package in packages if applies(package, extra) and not (extra and applies(package, ""))
    ]


def _is_satisfied(package: Requirement) -> bool:
    installed = _version(package.name)
    return bool(installed) and package.specifier.contains(installed, prereleases=True)


def _version(name: str) -> str:
    """Return the installed version of a package; "" if it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _specification(package: Requirement) -> str:
    """Return a requirement without its condition."""
    extras = f"[{','.join(sorted(package.extras))}]" if package.extras else ""
    return f"{package.name}{extras}{package.specifier}"


def _pip(*arguments: str) -> str:
    """Return a pip command, quoted for the shell of this system."""
    if sys.platform == "win32":  # cmd.exe knows double quotes only
        quoted = [f'"{text}"' if set(text) & set(" <>[]") else text for text in arguments]
    else:
        quoted = [shlex.quote(text) for text in arguments]
    return " ".join(["python -m pip install", *quoted])
