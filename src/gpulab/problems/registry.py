"""The problems that kernel cells can name: those of installed packages, and those of a lab's `problem.py`.

A package names its problems in the entry point group `gpulab.problems`: a `Problem`, or a module whose
problems all count. A lab has them in the file `problem.py` next to its notebook.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType
from typing import Any

from gpulab.entry_points import entry_points_of
from gpulab.errors import GpulabError, ProblemError, UsageError
from gpulab.problems.base import Problem

__all__ = [
    "PROBLEM_FILE",
    "find",
    "known_problems",
    "load_problems",
    "names_problem_of_lab",
    "open_lab",
    "problem",
    "problem_names",
    "problem_text",
    "use_problem_text",
]

GROUP = __name__.rpartition(".")[0]  # group of entry points: the name of this package
PROBLEM_FILE = "problem.py"

_FILES: dict[str, tuple[str, Mapping[str, Problem]]] = {}  # text and problems of each file that was loaded
_LABS: list[str] = []  # files whose problems can be named, the last one first
_closed: list[bool] = []  # non-empty after `use_problem_text`: no other file is read


def problem(name: str) -> Problem:
    """Return the problem of this name.

    Parameters
    ----------
    name : str
        The part of a kernel cell's header before the dot: of a problem of an installed package, or of the
        file `problem.py` in the working folder.

    Returns
    -------
    Problem
        Its variants, sizes, inputs, reference and figures such as `flops` and `compulsory_bytes`.

    Raises
    ------
    UsageError
        If no problem has this name; the message lists the names.
    ProblemError
        If the file or the package that declares problems fails.

    Examples
    --------
    >>> import gpulab
    >>> matmul = gpulab.problem("matmul")
    >>> matmul.flops((64, 64, 64))
    524288
    """
    found = _known(name)
    if found is None:
        raise UsageError(f"there is no problem `{name}`; the problems are: {_listed()}.{_failures()}")
    return found


def problem_names() -> tuple[str, ...]:
    """Return the problem names that a kernel cell's header accepts before the dot.

    Returns
    -------
    tuple of str
        Those of installed packages, then those of the current lab.
    """
    return tuple(dict.fromkeys([*_installed()[0], *(name for file in _lab_files() for name in _read(file))]))


def names_problem_of_lab(name: str) -> bool:
    """Return True if a name is that of a problem of an installed package or of the current lab.

    The current lab is the one that was opened last, and that of the working folder: in another lab, a kernel
    of no problem may have the name of a problem.
    """
    lab = [file for file in _lab_files() if file in _LABS[:1] or file == _file_here()]
    return name in _installed()[0] or any(name in _read(file) for file in lab)


def known_problems() -> tuple[Problem, ...]:
    """Return the problems that a kernel cell's header can name."""
    return tuple(problem(name) for name in problem_names())


def load_problems(file: str | Path) -> Mapping[str, Problem]:
    """Load a file that declares problems, and let kernel cells name them.

    Parameters
    ----------
    file : str or path
        A Python file, such as the `problem.py` of a lab.

    Returns
    -------
    mapping of str to Problem
        Its problems by name. A file that has changed is loaded again.

    Raises
    ------
    ProblemError
        If the file cannot be read, raises an exception, or declares no problem.

    Examples
    --------
    >>> import gpulab
    >>> try:
    ...     gpulab.problems.load_problems("missing.py")
    ... except gpulab.UsageError as error:
    ...     print(error)
    missing.py cannot be read: No such file or directory.
    """
    path = str(Path(file).resolve())
    problems = _read(path, shown=str(file))
    _move_to_front(path)
    return problems


def open_lab(folder: str | Path) -> None:
    """Let kernel cells name the problems of a folder's `problem.py`, which is run when one is looked up."""
    if not _closed:
        _move_to_front(str((Path(folder) / PROBLEM_FILE).resolve()))


def problem_text(folder: Path) -> tuple[str, str] | None:
    """Return path and text of the `problem.py` of a folder; None if there is none."""
    file = folder / PROBLEM_FILE
    return (str(file.resolve()), file.read_text(encoding="utf-8")) if file.is_file() else None


def use_problem_text(file: tuple[str, str] | None) -> None:
    """Use the problems of a text, with the path that messages name, and read no other file from now on.

    The grader calls it with the teacher's copy, so that no file of a submission is ever run.
    """
    _LABS.clear()
    _closed.append(True)
    if file is not None:
        path, text = file
        _FILES[path] = text, _declared_in(path, text, path)
        _LABS.append(path)


def find(name: str, file: str) -> Problem:
    """Return a problem of a file, in any process."""
    problems = _FILES[file][1] if _closed and file in _FILES else _read(file)
    if name not in problems:
        raise UsageError(f"{file} declares no problem `{name}` any more.")
    return problems[name]


def _known(name: str) -> Problem | None:
    installed = _installed()[0]
    if name in installed:
        return installed[name]
    return next((found for file in _lab_files() if (found := _read(file).get(name))), None)


def _lab_files() -> list[str]:
    """Return the files of labs, the last opened first, and that of the working folder."""
    if _closed:
        return list(_LABS)
    files = dict.fromkeys([*_LABS, _file_here()])
    return [file for file in files if file in _FILES or _mentions_gpulab(file)]


def _file_here() -> str:
    return str((Path.cwd() / PROBLEM_FILE).resolve())


def _move_to_front(file: str) -> None:
    if file in _LABS:
        _LABS.remove(file)
    _LABS.insert(0, file)


def _mentions_gpulab(file: str) -> bool:
    """Return True if a file exists and may declare problems; another file of this name is never run."""
    try:
        return "gpulab" in Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False


def _read(file: str, shown: str = "") -> Mapping[str, Problem]:
    """Return the problems of a file; it runs again only if its text has changed."""
    if _closed and file in _FILES:
        return _FILES[file][1]
    try:
        text = Path(file).read_text(encoding="utf-8")
    except OSError as error:
        raise ProblemError(f"{shown or file} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise ProblemError(f"{shown or file} is not UTF-8 text.") from None
    if file not in _FILES or _FILES[file][0] != text:
        _FILES[file] = text, _declared_in(file, text, shown or file)
    return _FILES[file][1]


def _declared_in(file: str, text: str, shown: str) -> Mapping[str, Problem]:
    """Run the text of a file and return its problems by name."""
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    module: dict[str, Any] = {"__name__": Path(file).stem, "__file__": file}
    try:
        exec(compile(text, file, "exec"), module)  # noqa: S102  (a Python file of the teacher's)
    except SyntaxError as error:
        message = error.msg.rstrip("?.")  # Python asks, "Perhaps you forgot a comma?"
        raise ProblemError(f"{Path(shown).name}, line {error.lineno}: {message}.") from None
    except GpulabError:
        raise
    except (Exception, SystemExit) as error:
        raise ProblemError(f"{_place(error, file)}: {type(error).__name__}: {error}.") from error
    problems = _problems_of(module.values())
    if not problems:
        raise ProblemError(f"{shown} declares no problem: it needs `problem = gpulab.Problem(...)`.")
    for declared in problems.values():
        _set_found_by(declared, find, declared.name, file)
    return problems


def _place(error: BaseException, file: str) -> str:
    trace, line = error.__traceback__, 0
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            line = trace.tb_lineno
        trace = trace.tb_next
    return f"{Path(file).name}, line {line}"


def _problems_of(values: Iterable[Any]) -> dict[str, Problem]:
    """Return the problems among some values, and in lists and tuples, by name."""
    problems: dict[str, Problem] = {}
    for value in values:
        for each in value if isinstance(value, list | tuple) else [value]:
            if isinstance(each, Problem) and problems.setdefault(each.name, each) is not each:
                raise ProblemError(f"{each.line}: there is another problem with the name {each.name}.")
    return problems


@cache
def _installed() -> tuple[Mapping[str, Problem], tuple[str, ...]]:
    """Return the problems of installed packages, and sentences about entry points that failed."""
    problems: dict[str, Problem] = {}
    failures = []
    for entry in entry_points_of(GROUP):
        try:
            problems |= _of_entry(entry)
        except Exception as error:  # noqa: BLE001  (a package that fails must not take the others along)
            failures.append(f" The entry point {entry.name} ({entry.value}) fails: {error}")
    return dict(sorted(problems.items())), tuple(failures)


def _of_entry(entry: EntryPoint) -> Mapping[str, Problem]:
    loaded = entry.load()
    problems = _problems_of(vars(loaded).values() if isinstance(loaded, ModuleType) else [loaded])
    for declared in problems.values():
        _set_found_by(declared, problem, declared.name)
    return problems


def _set_found_by(declared: Problem, function: Callable[..., Problem], *arguments: str) -> None:
    """Say how another process finds a problem, and those that its steps solve."""
    declared.found_by = function, arguments
    for step in declared.variants:
        part = declared.of_step(step)
        if part is not declared:
            part.found_by = _of_step, (declared, step)


def _of_step(declared: Problem, step: str) -> Problem:
    return declared.of_step(step)


def _listed() -> str:
    return ", ".join(problem_names()) or "none; install gpulab again, so that its own are found"


def _failures() -> str:
    return "".join(_installed()[1])
