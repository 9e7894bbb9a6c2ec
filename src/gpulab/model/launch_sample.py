"""What was seen of a launch by running a sample of it: the model's input. Plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from gpulab.model.caches import SiteTraffic
from gpulab.model.code import CodeBlock

__all__ = ["AccessSample", "LaunchSample"]


@dataclass(frozen=True)
class AccessSample:
    """Some requests of one instruction that accesses memory.

    space: "global", "shared" or "generic". reads: whether it only reads. width: bytes a lane.
    requests: by warps with an active lane, over the whole launch. masks, addresses: of some of them,
    (requests,) and (requests, 32).
    """

    space: str
    reads: bool
    width: int
    requests: float
    masks: npt.NDArray[np.uint32]
    addresses: npt.NDArray[np.int64]


@dataclass(frozen=True)
class LaunchSample:
    """What was seen of a launch, by running a sample of it.

    grid, block: of the launch. resident: blocks that an SM of the GPU holds. registers: of a thread.
    code: with how often it ran, over the whole launch. accesses: by the place in the program (`Step.site`).
    traffic: the same, where the GPU's caches were tried. array_bytes: of all arrays together.
    ended: whether the warps that were tried on the caches came to their end there.
    """

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    resident: int
    registers: int
    code: tuple[CodeBlock, ...]
    accesses: Mapping[int, AccessSample]
    traffic: Mapping[int, SiteTraffic] = field(default_factory=dict)
    array_bytes: int = 0
    ended: bool = False
