"""The provenance of a number: measured, counted, modelled, published, or the simulator's wall time."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

__all__ = ["Kind", "Provenance"]

Kind = Literal["measured", "counted", "modelled", "published", "simulator wall time"]


@dataclass(frozen=True)
class Provenance:
    """The origin of a number, which accompanies it wherever it is shown, stored or graded.

    Attributes
    ----------
    kind : {"measured", "counted", "modelled", "published", "simulator wall time"}
        Measured on a GPU; counted by the simulator while it executed the kernel; modelled for a GPU;
        published in a paper or manual; or the time that the simulator took, which says nothing about a GPU.
    device : str
        The GPU, or the simulator with the GPU that it simulates.
    detail : str
        Driver and clock, parameters of the model, or the place in the publication.

    Examples
    --------
    >>> from gpulab.provenance import Provenance
    >>> str(Provenance("measured", "NVIDIA H200", "driver 580.65"))
    'measured, NVIDIA H200, driver 580.65'
    """

    kind: Kind
    device: str
    detail: str = ""

    def __str__(self) -> str:
        kind = "simulator's own wall time" if self.kind == "simulator wall time" else self.kind
        text = f"{kind}, {self.device}"
        return f"{text}, {self.detail}" if self.detail else text

    def comparable(self, other: Provenance) -> bool:
        """Return True if a ratio of the two numbers is meaningful: they have the same kind and device."""
        return self.kind == other.kind and self.device == other.device

    def as_dict(self) -> dict[str, Any]:
        """Return the provenance as plain data for JSON."""
        return asdict(self)
