"""The IPython shell of a test: without a history, and closed after the test."""

from __future__ import annotations

import atexit
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

__all__ = ["close_shell", "new_shell"]


def new_shell() -> InteractiveShell:
    """Close the shell of this process, if there is one, and return a new one."""
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    close_shell()
    config = Config()
    config.HistoryManager.enabled = False  # a database in the home folder and a thread
    return InteractiveShell.instance(colors="nocolor", config=config)


def close_shell() -> None:
    """Close the shell of this process, if there is one.

    IPython itself closes shells when the process ends. It collects garbage for each, which takes minutes
    in a process in which hundreds of tests ran.
    """
    module = sys.modules.get("IPython.core.interactiveshell")
    if module is None or not module.InteractiveShell.initialized():
        return

    shell = module.InteractiveShell._instance
    type(shell).clear_instance()
    atexit.unregister(shell.atexit_operations)
    if hasattr(
        shell.history_manager, "close"
    ):  # the lowest version that gpulab supports has nothing to close
        shell.history_manager.close()
