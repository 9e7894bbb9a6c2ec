"""`gpulab.catalogue_table`: the GPUs of the catalogue."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpulab.gpus.catalogue import GpuSpec, names
from gpulab.gpus.catalogue import gpu as gpu_named
from gpulab.views.html import View
from gpulab.views.tables.builder import Column, table_view

__all__ = ["catalogue_table"]

_CAPTION = (
    "Published: data sheets (hover over a number for its source). c.c.: compute capability. "
    "GFLOPS = cores * 2 * clock. GB/s = 2 * memory clock * bus / 8. Flop/float: operations per float of DRAM "
    "traffic at the ridge point; a kernel with more is bound by arithmetic. Bars: relative to the largest."
)


def _figure(header: str, value: str | Callable[[GpuSpec], float], form: str, *parts: str) -> Column:
    """Declare a column of figures. parts: the catalogue's figures that a value is computed from."""

    def source(spec: GpuSpec) -> str:
        return "; ".join(dict.fromkeys(spec.sources[part] for part in parts))

    return Column(
        header, value, f"{{:{form}}}".format, source, bar=value in ("dram_gb_s", "peak_fp32_gflops")
    )


_PEAK, _BANDWIDTH = ("sms", "boost_clock_mhz"), ("memory_clock_mhz", "memory_bus_bits")
_COLUMNS = (
    Column("GPU", "name"),
    Column("architecture", "architecture"),
    Column("c.c.", lambda spec: ".".join(map(str, spec.compute_capability))),
    _figure("SMs", "sms", "d", "sms"),
    _figure("cores", "cores", ",d", "sms"),
    _figure("MHz", "boost_clock_mhz", ",g", "boost_clock_mhz"),
    _figure("bus (bits)", "memory_bus_bits", ",d", "memory_bus_bits"),
    _figure("GiB", lambda spec: spec.memory_bytes / 2**30, ".3g", "memory_bytes"),
    _figure("GB/s", "dram_gb_s", ",.0f", *_BANDWIDTH),
    _figure("GFLOPS", "peak_fp32_gflops", ",.0f", *_PEAK),
    _figure(
        "flop/float", lambda spec: 4 * spec.peak_fp32_gflops / spec.dram_gb_s, ".0f", *_PEAK, *_BANDWIDTH
    ),
)


def catalogue_table(gpu: str | Sequence[str] | None = None) -> View:
    """Show the GPUs of the catalogue with their theoretical fp32 peak and memory bandwidth.

    Parameters
    ----------
    gpu : str or sequence of str, optional
        Keys of the GPUs to show: "gtx280", "t10", "gtx480", "k40", "gtx1080", "v100", "t4", "rtx3090",
        "a100", "rtx4090", "h100" and "h200". If omitted, all GPUs, oldest first.

    Returns
    -------
    View
        A table. The source of each figure is in its tooltip.

    Raises
    ------
    UsageError
        If the catalogue has no such GPU.

    Examples
    --------
    >>> import gpulab
    >>> print(gpulab.catalogue_table(("gtx280", "h200")).text.splitlines()[2])
    GeForce GTX 280  Tesla         1.3    30     240  1,296         512    1    142     622          18
    """
    keys = names() if gpu is None else (gpu,) if isinstance(gpu, str) else tuple(gpu)
    return table_view(_COLUMNS, [gpu_named(key) for key in keys], _CAPTION)
