"""The GPU catalogue: one `GpuSpec` per card, read from `catalogue.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from importlib.resources import files
from typing import Any

from gpulab.errors import UsageError
from gpulab.gpus.limits import Limits

__all__ = [
    "DEFAULT_GPU",
    "GpuSpec",
    "by_cuda_name",
    "dram_gb_s",
    "gpu",
    "limits_of",
    "names",
    "pcie_formula",
    "pcie_gb_s",
    "peak_fp32_gflops",
]

DEFAULT_GPU = "h200"  # what `gpulab.device("sim")` models


def peak_fp32_gflops(cores: int, clock_mhz: float) -> float:
    """Theoretical peak of fp32 arithmetic in GFLOPS: cores * 2 * clock (MHz) / 1000.

    The 2 is one multiply-add a clock and core. On compute capability 1.x the extra multiply of the
    special function units (933 instead of 622 GFLOPS on a GTX 280) is left out: a multiply-add loop
    cannot use it.
    """
    return cores * 2 * clock_mhz / 1e3


def dram_gb_s(memory_clock_mhz: float, memory_bus_bits: int) -> float:
    """Theoretical peak of the memory in GB/s (1e9 bytes): 2 * memory clock (MHz) * bus (bits) / 8 / 1000.

    The 2 is the double data rate of the clock as CUDA reports it.
    """
    return 2 * memory_clock_mhz * memory_bus_bits / 8 / 1e3


# Gigatransfers a second of a lane, and how many of how many bits are data.
# PCI-SIG, PCI Express Base Specification, revisions 2.0 to 5.0, chapter Physical Layer.
_PCIE = {
    "2.0": (5.0, (8, 10)),
    "3.0": (8.0, (128, 130)),
    "4.0": (16.0, (128, 130)),
    "5.0": (32.0, (128, 130)),
}


def pcie_gb_s(bus: str) -> float:
    """Peak of a PCI Express bus ("PCIe 3.0 x16") in GB/s (1e9 bytes) in each direction, after encoding.

    lanes * transfers a second * encoding / 8. Packet headers take more off it, which this leaves out.
    """
    lanes, transfers, (data, bits) = _pcie(bus)
    return lanes * transfers * data / bits / 8


def pcie_formula(bus: str) -> str:
    """The same with its numbers: "16 lanes * 8 GT/s * 128/130 / 8"."""
    lanes, transfers, (data, bits) = _pcie(bus)
    return f"{lanes} lanes * {transfers:g} GT/s * {data}/{bits} / 8"


def _pcie(bus: str) -> tuple[int, float, tuple[int, int]]:
    """Lanes, gigatransfers a second of a lane, and how many of how many bits are data."""
    _, version, lanes = bus.split()
    return int(lanes.removeprefix("x")), *_PCIE[version]


@dataclass(frozen=True, kw_only=True)
class GpuSpec(Limits):
    """One GPU: the limits of its compute capability and what its data sheet adds.

    key: its name in the catalogue, as in `sim:gtx280`; empty for a GPU that is not in it.
    name: the card's own name. cuda_names: what CUDA calls it.
    sms: multiprocessors.
    base_clock_mhz, boost_clock_mhz: clock of the cores in MHz; base is None where the data sheet
    gives one clock only.
    memory_bytes: global memory as CUDA reports it, in bytes. memory_clock_mhz: in MHz, two
    transfers a cycle. memory_bus_bits: width of the memory bus in bits. l2_bytes: 0 for none.
    ecc: whether its memory corrects errors as shipped.
    bus: what connects it with the host, "PCIe 3.0 x16"; "" where it is not known.
    calibrated: whether the performance model was measured against this very card.
    sources: where each figure was read, by field name.
    """

    key: str
    name: str
    cuda_names: tuple[str, ...] = ()
    sms: int
    base_clock_mhz: float | None = None
    boost_clock_mhz: float
    memory_bytes: int
    memory_clock_mhz: float
    memory_bus_bits: int
    l2_bytes: int
    ecc: bool
    bus: str = ""
    calibrated: bool = False
    sources: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)

    @property
    def cores(self) -> int:
        """fp32 units of the whole GPU: sms * cores_per_sm."""
        return self.sms * self.cores_per_sm

    @property
    def peak_fp32_gflops(self) -> float:
        """Published peak of fp32 arithmetic in GFLOPS, at the boost clock: see `peak_fp32_gflops`."""
        return peak_fp32_gflops(self.cores, self.boost_clock_mhz)

    @property
    def dram_gb_s(self) -> float:
        """Published peak of the memory in GB/s (1e9 bytes): see `dram_gb_s`."""
        return dram_gb_s(self.memory_clock_mhz, self.memory_bus_bits)

    @property
    def bus_gb_s(self) -> float | None:
        """Peak of the bus to the host in GB/s in each direction, or None where no bus is known."""
        return pcie_gb_s(self.bus) if self.bus else None


def names() -> tuple[str, ...]:
    """Keys of all GPUs in the catalogue, oldest first."""
    return tuple(_catalogue())


def gpu(name: str) -> GpuSpec:
    """The GPU of that name: its key (`gtx280`), or as people write it (`GTX 280`, `GeForce GTX 280`).

    Raises `UsageError` that lists what there is.
    """
    wanted = _plain(name)
    for spec in _catalogue().values():
        if wanted in {spec.key, _plain(spec.name), *map(_plain, spec.cuda_names)}:
            return spec
    raise UsageError(f"there is no GPU `{name}` in the catalogue; there is: {', '.join(names())}.")


def by_cuda_name(name: str) -> GpuSpec | None:
    """The GPU that CUDA calls `name` ("NVIDIA H200"), or None when it is not in the catalogue."""
    for spec in _catalogue().values():
        if name in spec.cuda_names:
            return spec
    return None


def limits_of(major: int, minor: int) -> tuple[Limits, Mapping[str, str]]:
    """Limits of a compute capability with their sources; of the nearest earlier one when it has no table.

    The second case is for a real GPU that is not in the catalogue; what CUDA reports of it goes
    before what is read here.
    """
    tables = _limits()
    at_most = [cc for cc in tables if cc <= (major, minor)]
    return tables[max(at_most) if at_most else min(tables)]


def _plain(name: str) -> str:
    return "".join(c for c in name.lower() if c.isalnum())


@cache
def _document() -> dict[str, Any]:
    return tomllib.loads(files("gpulab.gpus").joinpath("catalogue.toml").read_text(encoding="utf-8"))


def _split(table: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """A TOML table as keyword arguments (lists as tuples), and its figures' sources by field name."""
    shorthand = _document()["sources"]
    sources = {
        figure: shorthand.get(entry["source"], entry["source"])
        for entry in table["sources"]
        for figure in entry["figures"]
    }
    values = {k: tuple(v) if isinstance(v, list) else v for k, v in table.items() if k != "sources"}
    return values, sources


@cache
def _limits() -> dict[tuple[int, int], tuple[Limits, dict[str, str]]]:
    tables = {}
    for text, table in _document()["limits"].items():
        major, minor = (int(part) for part in text.split("."))
        values, sources = _split(table)
        exceptions = values.pop("register_unit_exceptions", None)
        if exceptions is not None:
            values["register_unit_exception"] = exceptions["unit"]
            values["register_unit_exceptions"] = tuple(exceptions["registers"])
        tables[major, minor] = (Limits(compute_capability=(major, minor), **values), sources)
    return tables


@cache
def _catalogue() -> dict[str, GpuSpec]:
    specs = {}
    for key, table in _document()["gpu"].items():
        values, sources = _split(table)
        major, minor = (int(part) for part in values.pop("compute_capability").split("."))
        limits, limit_sources = _limits()[major, minor]
        shared = {f.name: getattr(limits, f.name) for f in fields(Limits)}
        specs[key] = GpuSpec(key=key, **shared, **values, sources={**limit_sources, **sources})
    return specs
