"""An IPython shell in this process that runs notebook cells and records their outputs.

It has no front end and no Jupyter kernel, so it starts in a fraction of a second. Outputs have the form of a
notebook file (nbformat 4).
"""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
from typing import Any

from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from traitlets import Type
from traitlets.config import Config

__all__ = ["OutputFlood", "RecordingShell", "open_shell"]

MAX_TEXT = 1 << 20  # characters of printed text that a cell keeps
MAX_WRITTEN = 64 << 20  # characters after which a cell is ended; a loop writes them in about two seconds
OUTPUT_CHARACTERS = 100  # estimate for the fields of an output besides its content

Output = dict[str, Any]


class OutputFlood(BaseException):
    """A cell wrote more than `MAX_WRITTEN` characters; `except Exception` does not catch this error."""


class _Stream(io.TextIOBase):
    """A text stream that appends to the outputs of the running cell."""

    def __init__(self, name: str, shell: RecordingShell) -> None:
        super().__init__()
        self._name, self._shell = name, shell

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self._shell.add_text(self._name, str(text))
        return len(text)


class _Hook(DisplayHook):
    """The display of the value of a cell's last expression."""

    shell: RecordingShell

    def quiet(self) -> bool:
        """Return True if the cell ends with a semicolon, which suppresses the display."""
        return bool(self.semicolon_at_end_of_expression(self.shell.source))

    def __call__(self, result: Any = None) -> None:
        self.check_for_underscore()
        if result is None or self.quiet():
            return
        data, metadata = self.compute_format_data(result)
        self.update_user_ns(result)
        self.fill_exec_result(result)
        self.shell.add(
            {"output_type": "execute_result", "execution_count": None, "data": data, "metadata": metadata}
        )


class _Publisher(DisplayPublisher):
    """The target of `display`."""

    shell: RecordingShell

    def publish(
        self,
        data: dict[str, Any],
        metadata: dict[str, Any] | None = None,
        source: str | None = None,
        *,
        transient: dict[str, Any] | None = None,
        update: bool = False,
        **kwargs: Any,
    ) -> None:
        del source, transient, kwargs
        if not update:  # without a front end nothing can be replaced
            self.shell.add({"output_type": "display_data", "data": data, "metadata": metadata or {}})

    def clear_output(self, wait: bool = False) -> None:
        del wait


class RecordingShell(InteractiveShell):
    """A shell whose cells return their outputs."""

    displayhook_class = Type(_Hook)
    display_pub_class = Type(_Publisher)

    def __init__(self, **kwargs: Any) -> None:
        self.outputs: list[Output] = []
        self.source = ""
        self.error: BaseException | None = None  # of the last cell
        self._text: list[str] = []  # pieces of the last stream output, which are joined once
        self._room = MAX_TEXT  # characters that it can still take
        self._written = 0  # characters of the running cell
        super().__init__(**kwargs)

    def add(self, output: Output) -> None:
        """Append an output of the running cell. Raises `OutputFlood` if the cell has written too much."""
        self._join_text()
        self.outputs.append(output)
        contents = output.get("data", {}).values()
        self._count(
            OUTPUT_CHARACTERS + sum(len(content) for content in contents if isinstance(content, str | bytes))
        )

    def add_text(self, stream: str, text: str) -> None:
        """Append printed text; text beyond `MAX_TEXT` characters is dropped.

        Raises `OutputFlood` if the cell has written too much.
        """
        last = self.outputs[-1] if self.outputs else {}
        if last.get("output_type") != "stream" or last.get("name") != stream:
            self.add({"output_type": "stream", "name": stream, "text": ""})
            self._room = MAX_TEXT
        if self._room > 0:
            self._text.append(text[: self._room])
            self._room -= len(text)
        self._count(len(text))

    def _join_text(self) -> None:
        """Store the pieces of the last stream output in it."""
        if self._text:
            self.outputs[-1]["text"] = "".join(self._text)
            self._text = []

    def _count(self, characters: int) -> None:
        self._written += characters
        if self._written > MAX_WRITTEN:
            raise OutputFlood(f"the cell wrote more than {MAX_WRITTEN >> 20} MiB of output")

    def _showtraceback(self, etype: type[BaseException], evalue: BaseException, stb: Any) -> None:
        lines = stb.splitlines() if isinstance(stb, str) else [str(line) for line in stb]
        self._join_text()
        self.outputs.append(
            {"output_type": "error", "ename": etype.__name__, "evalue": str(evalue), "traceback": lines}
        )

    def record(self, source: str) -> tuple[list[Output], bool]:
        """Run a cell; return its outputs, and whether it ended without an error."""
        self.outputs, self.source, self._written = [], source, 0
        with (
            contextlib.redirect_stdout(_Stream("stdout", self)),
            contextlib.redirect_stderr(_Stream("stderr", self)),
        ):
            result = self.run_cell(source, store_history=False)
        self._join_text()
        self.error = result.error_before_exec or result.error_in_exec
        outputs, self.outputs = self.outputs, []
        return outputs, bool(result.success)


def open_shell() -> RecordingShell:
    """Return the shell of this process, without history, start-up files and colours."""
    if "IPYTHONDIR" not in os.environ:
        os.environ["IPYTHONDIR"] = tempfile.mkdtemp(prefix="gpulab-ipython-")
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    shell = RecordingShell.instance(config=config)
    assert isinstance(shell, RecordingShell)
    return shell
