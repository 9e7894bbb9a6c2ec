"""A student's Python program: what it may see and use, and the command line of its launcher."""

from __future__ import annotations

import json
import secrets
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import gpulab
from gpulab.grading.sandbox import launcher
from gpulab.grading.sandbox.resource_limits import ONE_THREAD, ResourceLimits

__all__ = ["SYSTEM_FILES", "SYSTEM_FOLDERS", "SandboxedProgram", "package_folder", "python_folders"]

FIRST_UNUSED_USER = 1_900_000_000  # far above the users of a machine and of its containers
UNUSED_USERS = 90_000_000
SYSTEM_FOLDERS = ("/bin", "/lib", "/lib32", "/lib64", "/sbin", "/usr")
SYSTEM_FILES = (
    "/etc/alternatives",  # Debian's choice of a BLAS library is a link to here
    "/etc/fonts",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
)
ENVIRONMENT = {
    "LANG": "C.UTF-8",
    "LOGNAME": "student",
    "USER": "student",
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",  # keep the debugger from warning on stderr
    **ONE_THREAD,
}


@dataclass(frozen=True)
class SandboxedProgram:
    """A Python program to run in a sandbox.

    Attributes
    ----------
    argv : sequence of str
        ``["-m", MODULE, ...]`` or ``["-c", COMMAND, ...]``, as for Python.
    folder : Path
        The folder whose files and folders the program finds in its working folder. New files there are lost
        at the end. Symbolic links are left out. If the grader is root, the program runs as another user, so
        the files must be readable by all.
    read_only : sequence of Path
        More files and folders that appear in the working folder under their own names, such as the release's
        `figures/`.
    limits : ResourceLimits
        The limits that the launcher applies.
    environment : mapping
        Variables in addition to `ENVIRONMENT`. None of the grader's variables are passed on.
    gpu : bool
        True makes the CUDA GPUs of the machine usable, False hides them.
    """

    argv: Sequence[str]
    folder: Path
    read_only: Sequence[Path] = ()
    limits: ResourceLimits = field(default_factory=ResourceLimits)
    environment: Mapping[str, str] = field(default_factory=dict)
    gpu: bool = False

    def entries(self) -> list[Path]:
        """Return the files and folders that appear in the working folder."""
        # A link that a submission contains may lead to a file of the grader.
        entries = [path for path in (*self.folder.iterdir(), *self.read_only) if not path.is_symlink()]
        return [path.absolute() for path in entries if path.is_file() or path.is_dir()]

    def launch(self, *, user: int | None, confined: Mapping[str, object] | None = None) -> list[str]:
        """Return the command that starts the launcher with this program.

        Parameters
        ----------
        user : int or None
            The user that the launcher changes to.
        confined : mapping, optional
            What a sandbox without namespaces allows (`confined_command`); None: it has namespaces.
        """
        variables = {**ENVIRONMENT, "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"}
        if not self.gpu:
            variables["CUDA_VISIBLE_DEVICES"] = ""
        settings = {
            "limits": asdict(self.limits),
            "gpu": self.gpu,
            "environment": variables | dict(self.environment),
            "user": user,
            "package_folder": str(package_folder().parent),
            "confined": confined,
        }
        return [
            sys.executable,
            "-I",  # no PYTHON* variables, no user's packages, no working folder on sys.path
            "-B",
            "-X",
            "utf8",
            launcher.__file__,
            json.dumps(settings),
            *self.argv,
        ]


def unused_user() -> int:
    """Return the number of a user that no process of this machine has, where it can be one here."""
    rows = [line.split() for line in Path("/proc/self/uid_map").read_text(encoding="ascii").splitlines()]
    first, count = max((int(row[0]), int(row[2])) for row in rows)
    if first + count > FIRST_UNUSED_USER + UNUSED_USERS:
        return FIRST_UNUSED_USER + secrets.randbelow(UNUSED_USERS)
    return first + count - 1 - secrets.randbelow(max(1, count // 4))  # a container with few users


def package_folder() -> Path:
    """Return the folder of the package `gpulab`."""
    return Path(gpulab.__file__).resolve().parent


def python_folders() -> list[Path]:
    """Return the folders of the Python environment and of `gpulab` that no other shown folder contains."""
    folders = [Path(path) for path in (sys.base_prefix, sys.base_exec_prefix, sys.prefix, sys.exec_prefix)]
    folders.append(Path(sys.executable).resolve().parent.parent)
    folders += [folder.resolve() for folder in folders]

    system = [Path(name) for name in SYSTEM_FOLDERS]
    shown: list[Path] = []
    for folder in [*sorted(set(folders), key=lambda path: len(path.parts)), package_folder()]:
        if not any(folder.is_relative_to(other) for other in (*system, *shown)):
            shown.append(folder)
    return shown
