"""Tab completion in the first line of a kernel cell: problems, variants, options."""

from __future__ import annotations

from typing import Any

from gpulab.problems import problem, problem_names

__all__ = ["candidates", "install"]

_OPTIONS = ("--block", "--tile")


def candidates(line: str) -> list[str]:
    """What may stand where the cursor is, at the end of `line`."""
    words = line.split()
    starts_new = line[-1:].isspace()
    started = "" if starts_new else words[-1]
    before = words if starts_new else words[:-1]
    if len(before) == 1:  # right after %%cuda
        names = [f"{name}.{variant}" for name in problem_names() for variant in problem(name).variants]
        return [name for name in names if name.startswith(started)]
    return [option for option in _OPTIONS if option.startswith(started) and option not in before]


def install(ipython: Any) -> None:
    """Teach an IPython shell to complete after `%%cuda`."""

    def complete(_shell: Any, event: Any) -> list[str]:
        return candidates(event.text_until_cursor)

    ipython.set_hook("complete_command", complete, str_key="%%cuda")
