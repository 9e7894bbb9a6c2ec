"""The place of a fault on a GPU, found by repeating the launch on the simulator.

CUDA reports that a kernel faulted, but neither the line nor the thread.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gpulab.devices.base import Kernel
from gpulab.errors import GpulabError, LaunchError

if TYPE_CHECKING:
    from gpulab.devices.base import RecordableKernel

__all__ = ["with_place"]


def with_place(
    fault: LaunchError, kernel: Kernel, launch: Callable[[RecordableKernel], object]
) -> LaunchError:
    """Return the error of a launch on a GPU, with the line, the block and the thread if it was a fault.

    launch: repeats the launch with the kernel that it gets, which is one of the simulator.
    """
    if not fault.findings or any(finding.line for finding in fault.findings):
        return fault  # refused before it ran, or found by the simulator
    try:
        launch(kernel.on_simulator)
    except LaunchError as found:
        if found.findings:
            return type(found)(f"{found}\nOn the {kernel.device.name}: {fault}", found.findings)
        reason = str(found)
    except GpulabError as error:
        reason = str(error)
    else:
        reason = "there, the same launch does not fault"
    return type(fault)(f"{fault}\nThe simulator does not find the line: {reason}", fault.findings)
