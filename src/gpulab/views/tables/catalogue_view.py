"""`gpulab.catalogue_table`: the GPUs of the catalogue."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpulab.gpus.catalogue import GpuSpec, names
from gpulab.gpus.catalogue import gpu as gpu_named
from gpulab.views.html import View
from gpulab.views.tables.builder import Column, table_view

__all__ = ["catalogue_table"]

_CAPTION = (
    "Published: data sheets (rest the pointer on a number for its source). c.c.: compute capability. "
    "GFLOPS = cores * 2 * clock. GB/s = 2 * memory clock * bus / 8. Flop/float: operations per float of DRAM "
    "traffic at the ridge point; a kernel with more is bound by arithmetic. Bars: relative to the largest."
)


def _figure(
    header: str,
    text: Callable[[GpuSpec], str],
    *figures: str,
    bar: Callable[[GpuSpec], float] | None = None,
) -> Column[GpuSpec]:
    """Declare a numeric column. figures: the catalogue's figures that it is computed from."""

    def source(spec: GpuSpec) -> str:
        return "; ".join(dict.fromkeys(spec.sources[figure] for figure in figures))

    return Column(header, text, numeric=True, source=source, bar=bar)


_COLUMNS = (
    Column[GpuSpec]("GPU", lambda spec: spec.name),
    Column[GpuSpec]("architecture", lambda spec: spec.architecture),
    Column[GpuSpec]("c.c.", lambda spec: ".".join(map(str, spec.compute_capability))),
    _figure("SMs", lambda spec: f"{spec.sms}", "sms"),
    _figure("cores", lambda spec: f"{spec.cores:,}", "sms"),
    _figure("MHz", lambda spec: f"{spec.boost_clock_mhz:g}", "boost_clock_mhz"),
    _figure("bus (bits)", lambda spec: f"{spec.memory_bus_bits:,}", "memory_bus_bits"),
    _figure("GB", lambda spec: f"{spec.memory_bytes / 1e9:.0f}", "memory_bytes"),
    _figure(
        "GB/s",
        lambda spec: f"{spec.dram_gb_s:,.0f}",
        "memory_clock_mhz",
        "memory_bus_bits",
        bar=lambda spec: spec.dram_gb_s,
    ),
    _figure(
        "GFLOPS",
        lambda spec: f"{spec.peak_fp32_gflops:,.0f}",
        "sms",
        "boost_clock_mhz",
        bar=lambda spec: spec.peak_fp32_gflops,
    ),
    _figure(
        "flop/float",
        lambda spec: f"{spec.peak_fp32_gflops / (spec.dram_gb_s / 4):.0f}",
        "sms",
        "boost_clock_mhz",
        "memory_clock_mhz",
        "memory_bus_bits",
    ),
)


def catalogue_table(gpu: str | Sequence[str] | None = None) -> View:
    """Show the GPUs of the catalogue with their theoretical fp32 peak and memory bandwidth.

    Parameters
    ----------
    gpu : str or sequence of str, optional
        Keys of the GPUs to show, such as "gtx280" or ("t10", "h200"). If omitted, all GPUs, oldest first.

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
    GeForce GTX 280  Tesla         1.3    30     240  1296         512    1    142     622          18
    """
    keys = names() if gpu is None else (gpu,) if isinstance(gpu, str) else tuple(gpu)
    return table_view(_COLUMNS, [gpu_named(key) for key in keys], _CAPTION)
