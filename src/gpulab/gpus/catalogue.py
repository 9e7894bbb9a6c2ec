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

DEFAULT_GPU = "h200"  # the GPU of `gpulab.device("sim")`


def peak_fp32_gflops(cores: int, clock_mhz: float) -> float:
    """Return the theoretical peak of fp32 arithmetic in GFLOPS: cores * 2 * clock (MHz) / 1000.

    The factor 2 is one multiply-add per core and cycle. On compute capability 1.x the additional multiply of
    the special function units (933 instead of 622 GFLOPS on a GTX 280) is not counted, because a sequence of
    multiply-adds cannot use it.
    """
    return cores * 2 * clock_mhz / 1e3


def dram_gb_s(memory_clock_mhz: float, memory_bus_bits: int) -> float:
    """Return the theoretical DRAM bandwidth in GB/s (1e9 bytes): 2 * clock (MHz) * bus (bits) / 8 / 1000.

    The factor 2 is the double data rate at the memory clock that CUDA reports.
    """
    return 2 * memory_clock_mhz * memory_bus_bits / 8 / 1e3


# By version: gigatransfers per second and lane, and the encoding (data bits of transferred bits). PCI-SIG,
# PCI Express Base Specification, revisions 2.0 to 5.0, chapter Physical Layer.
_PCIE = {
    "2.0": (5.0, (8, 10)),
    "3.0": (8.0, (128, 130)),
    "4.0": (16.0, (128, 130)),
    "5.0": (32.0, (128, 130)),
}


def pcie_gb_s(bus: str) -> float:
    """Return the peak of a bus such as "PCIe 3.0 x16" in GB/s (1e9 bytes) in each direction.

    It is lanes * transfers per second * encoding / 8, without the overhead of packet headers.
    """
    lanes, transfers, (data, bits) = _pcie(bus)
    return lanes * transfers * data / bits / 8


def pcie_formula(bus: str) -> str:
    """Return the formula of `pcie_gb_s` with its numbers: "16 lanes * 8 GT/s * 128/130 / 8"."""
    lanes, transfers, (data, bits) = _pcie(bus)
    return f"{lanes} lanes * {transfers:g} GT/s * {data}/{bits} / 8"


def _pcie(bus: str) -> tuple[int, float, tuple[int, int]]:
    """Return the lanes, the gigatransfers per second and lane, and the encoding of a bus."""
    _, version, lanes = bus.split()
    return int(lanes.removeprefix("x")), *_PCIE[version]


@dataclass(frozen=True, kw_only=True)
class GpuSpec(Limits):
    """A GPU: the limits of its compute capability, and the figures of its data sheet.

    Attributes
    ----------
    key : str
        Its name in the catalogue, as in `sim:gtx280`; "" for a GPU that is not in the catalogue.
    name : str
        The name of the card.
    cuda_names : tuple of str
        The names that CUDA reports for it.
    sms : int
        Streaming multiprocessors.
    base_clock_mhz, boost_clock_mhz : float
        Clock of the cores, in MHz; the base clock is None if the data sheet gives only one.
    memory_bytes : int
        Global memory that CUDA reports, in bytes.
    memory_clock_mhz : float
        Memory clock in MHz, with two transfers per cycle.
    memory_bus_bits : int
        Width of the memory bus, in bits.
    l2_bytes : int
        Size of the L2 cache in bytes; 0 if there is none.
    ecc : bool
        True if error correction is enabled by default.
    bus : str
        Connection to the host, such as "PCIe 3.0 x16"; "" if unknown.
    tensor_clock_mhz : float or None
        Clock at which NVIDIA states the peaks of the tensor cores, except that of fp64, in MHz; None if it is
        the boost clock.
    calibrated : bool
        True if the performance model was compared with measurements of this card.
    sources : mapping of str to str
        The document in which each figure was read, by field name.
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
    tensor_clock_mhz: float | None = None
    calibrated: bool = False
    sources: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)

    @property
    def cores(self) -> int:
        """The fp32 units of the whole GPU: sms * cores_per_sm."""
        return self.sms * self.cores_per_sm

    @property
    def peak_fp32_gflops(self) -> float:
        """The published peak of fp32 arithmetic in GFLOPS, at the boost clock (see `peak_fp32_gflops`)."""
        return peak_fp32_gflops(self.cores, self.boost_clock_mhz)

    def peak_tensor_gflops(self, kind: str) -> float | None:
        """Return the published peak of the tensor cores in GFLOPS.

        It is 2 * sms * tensor_fmas * clock (MHz) / 1000.

        Parameters
        ----------
        kind : str
            The type of the products, without structured sparsity: "fp16_dst_fp16", "fp16_dst_fp32" (fp16
            factors, fp32 sums), "bf16_dst_fp32", "tf32_dst_fp32", "fp64" or "int8".

        Returns
        -------
        float or None
            None if the GPU has no tensor cores for this type.

        Examples
        --------
        >>> import gpulab
        >>> a100 = gpulab.gpu("a100")
        >>> round(a100.peak_fp32_gflops), round(a100.peak_tensor_gflops("tf32_dst_fp32"))
        (19492, 155935)
        """
        fmas = self.tensor_fmas.get(kind)
        if fmas is None:
            return None
        clock = self.boost_clock_mhz if kind == "fp64" else self.tensor_clock_mhz or self.boost_clock_mhz
        return 2 * self.sms * fmas * clock / 1e3

    @property
    def dram_gb_s(self) -> float:
        """The published DRAM bandwidth in GB/s, 1e9 bytes (see `dram_gb_s`)."""
        return dram_gb_s(self.memory_clock_mhz, self.memory_bus_bits)

    @property
    def bus_gb_s(self) -> float | None:
        """The peak of the bus to the host in GB/s in each direction; None if the bus is unknown."""
        return pcie_gb_s(self.bus) if self.bus else None


def names() -> tuple[str, ...]:
    """Return the keys of all GPUs in the catalogue, oldest first."""
    return tuple(_catalogue())


def gpu(name: str) -> GpuSpec:
    """Return a GPU of the catalogue.

    Parameters
    ----------
    name : str
        Its key or its name, in any case: `gtx280`, `GTX 280`, `GeForce GTX 280`. `gpulab.catalogue_table()`
        lists all GPUs.

    Returns
    -------
    GpuSpec
        Figures of the data sheet, each in the unit that its name ends with, and the limits of its compute
        capability.

    Raises
    ------
    UsageError
        If the catalogue does not have the GPU; the message lists the keys.

    Examples
    --------
    >>> import gpulab
    >>> gtx280 = gpulab.gpu("GTX 280")
    >>> gtx280.sms, gtx280.max_warps_per_sm
    (30, 32)
    """
    wanted = _plain(name)
    for spec in _catalogue().values():
        if wanted in {spec.key, _plain(spec.name), *map(_plain, spec.cuda_names)}:
            return spec
    raise UsageError(f"the catalogue has no GPU `{name}`; it has: {', '.join(names())}.")


def by_cuda_name(name: str) -> GpuSpec | None:
    """Return the GPU for which CUDA reports this name ("NVIDIA H200"); None if the catalogue has none."""
    for spec in _catalogue().values():
        if name in spec.cuda_names:
            return spec
    return None


def limits_of(major: int, minor: int) -> tuple[Limits, Mapping[str, str]]:
    """Return the limits of a compute capability with their sources, or those of the nearest earlier one.

    The limits of an earlier one are for a GPU that is not in the catalogue; what CUDA reports overrides them.
    """
    tables = _limits()
    at_most = [capability for capability in tables if capability <= (major, minor)]
    return tables[max(at_most) if at_most else min(tables)]


def _plain(name: str) -> str:
    return "".join(c for c in name.lower() if c.isalnum())


@cache
def _document() -> dict[str, Any]:
    return tomllib.loads(files("gpulab.gpus").joinpath("catalogue.toml").read_text(encoding="utf-8"))


def _split(table: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return a TOML table as keyword arguments (lists as tuples), and the sources by field name."""
    abbreviations = _document()["sources"]
    sources = {
        figure: abbreviations.get(entry["source"], entry["source"])
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
