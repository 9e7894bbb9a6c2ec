"""Where a number comes from: measured, counted, modelled, published, or the simulator's own wall time."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

__all__ = ["Kind", "Provenance"]

Kind = Literal["measured", "counted", "modelled", "published", "simulator wall time"]


@dataclass(frozen=True)
class Provenance:
    """What stands beside every number that is shown, stored or graded.

    kind: `measured` (on a GPU), `counted` (by the simulator, while it executed the kernel), `modelled` (of
    a GPU), `published` (in a paper or a manual) or `simulator wall time` (how long the simulator took, which
    tells nothing about a GPU).
    device: the GPU, or the simulator and the GPU it stands for.
    detail: driver and clock, parameters of the model, or the place in the source.
    """

    kind: Kind
    device: str
    detail: str = ""

    def __str__(self) -> str:
        words = "simulator's own wall time" if self.kind == "simulator wall time" else self.kind
        text = f"{words}, {self.device}"
        return f"{text}, {self.detail}" if self.detail else text

    def comparable(self, other: Provenance) -> bool:
        """Whether a ratio of the two numbers means anything: same kind, same device."""
        return self.kind == other.kind and self.device == other.device

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)
