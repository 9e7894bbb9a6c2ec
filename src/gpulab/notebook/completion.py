"""Tab completion in the first line of a kernel cell: problems, variants, options."""

from __future__ import annotations

from typing import Any

from gpulab.problems import problem, problem_names

__all__ = ["candidates", "install"]

_OPTIONS = ("--block", "--tile", "--kernel")


def candidates(line: str) -> list[str]:
    """Return the completions at the end of `line`."""
    words = line.split()
    at_new_word = line[-1:].isspace()
    prefix = "" if at_new_word else words[-1]
    before = words if at_new_word else words[:-1]
    if len(before) == 1:  # directly after %%cuda
        names = [f"{name}.{variant}" for name in problem_names() for variant in problem(name).variants]
        return [name for name in names if name.startswith(prefix)]
    return [option for option in _OPTIONS if option.startswith(prefix) and option not in before]


def install(ipython: Any) -> None:
    """Register the completion of `%%cuda` lines with an IPython shell."""

    def complete(_shell: Any, event: Any) -> list[str]:
        return candidates(event.text_until_cursor)

    ipython.set_hook("complete_command", complete, str_key="%%cuda")
