"""The state of GPUs that NVIDIA's management library reports: driver, MIG slices, clocks.

The library belongs to the driver, so it is loaded by its name and needs no Python package. Names, numbers and
structures are those of the NVML API Reference. A query that a GPU does not support gives None.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

__all__ = ["ClockState", "InstalledGpu", "MigSlice", "Nvml", "open_nvml"]

# nvmlClockType_t, nvmlComputeMode_t
_SM_CLOCK = 1
_COMPUTE_MODES = {0: "", 1: "exclusive thread", 2: "prohibited", 3: "exclusive process"}

# nvmlClocksThrottleReason…: why the clock is below the highest one. Idleness (1) is left out.
_REASONS = {
    0x2: "set clocks",
    0x4: "power limit",
    0x8: "hardware slowdown",
    0x10: "another GPU of its group",
    0x20: "temperature",
    0x40: "temperature (hardware)",
    0x80: "power brake",
    0x100: "display clocks",
}
_TEXT_BYTES = 96  # larger than any name or version (NVML_DEVICE_NAME_V2_BUFFER_SIZE)


class _Memory(ctypes.Structure):
    """nvmlMemory_t."""

    _fields_ = (("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong))


@dataclass(frozen=True)
class ClockState:
    """The clock of a GPU's SMs at one moment, in MHz, and the reasons for which it is limited."""

    sm_mhz: int | None
    limits: tuple[str, ...]


@dataclass(frozen=True)
class MigSlice:
    """A slice of a GPU in MIG mode."""

    name: str
    memory_bytes: int | None


@dataclass(frozen=True)
class InstalledGpu:
    """A GPU of the machine.

    Attributes
    ----------
    name : str
        "NVIDIA H200".
    memory_bytes : int or None
        Its memory.
    mig : bool
        True if it is in MIG mode: CUDA programs can use its slices only.
    slices : tuple of MigSlice
        Its MIG slices.
    compute_mode : str
        "" if several processes may use it, else "exclusive process", "exclusive thread" or "prohibited".
    """

    name: str
    memory_bytes: int | None = None
    mig: bool = False
    slices: tuple[MigSlice, ...] = ()
    compute_mode: str = ""


class Nvml:
    """The loaded library, initialised.

    library: the C library, or an object with the same functions.
    """

    def __init__(self, library: Any) -> None:
        self._library = library
        if library.nvmlInit_v2() != 0:
            raise OSError("NVML cannot be initialised")

    def driver_version(self) -> str:
        """Return the version of the driver, such as "580.65.06"; "" if it is not known."""
        return self._text("nvmlSystemGetDriverVersion")

    def cuda_version(self) -> tuple[int, int] | None:
        """Return the newest version of CUDA that the driver supports."""
        version = self._number("nvmlSystemGetCudaDriverVersion_v2", ctypes.c_int)
        return None if version is None else (version // 1000, version % 1000 // 10)

    def gpus(self) -> tuple[InstalledGpu, ...]:
        """Return the GPUs of the machine; more than CUDA uses if CUDA_VISIBLE_DEVICES selects some."""
        count = self._number("nvmlDeviceGetCount_v2", ctypes.c_uint) or 0
        handles = (self._handle("nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(i)) for i in range(count))
        return tuple(self._gpu(handle) for handle in handles if handle is not None)

    def clock_state(self, pci_bus_id: str) -> ClockState | None:
        """Return the clock of the GPU with this PCI bus identifier; None if there is no such GPU."""
        handle = self._handle("nvmlDeviceGetHandleByPciBusId_v2", pci_bus_id.encode())
        if handle is None:
            return None
        bits = self._number("nvmlDeviceGetCurrentClocksThrottleReasons", ctypes.c_ulonglong, handle) or 0
        limits = tuple(name for bit, name in _REASONS.items() if bits & bit)
        clock = self._number("nvmlDeviceGetClockInfo", ctypes.c_uint, handle, ctypes.c_int(_SM_CLOCK))
        return ClockState(clock, limits)

    def _gpu(self, handle: Any) -> InstalledGpu:
        mode, pending = ctypes.c_uint(), ctypes.c_uint()
        mig = self._call("nvmlDeviceGetMigMode", handle, ctypes.byref(mode), ctypes.byref(pending))
        in_mig_mode = mig and mode.value == 1
        return InstalledGpu(
            self._text("nvmlDeviceGetName", handle),
            self._memory(handle),
            in_mig_mode,
            tuple(self._slices(handle)) if in_mig_mode else (),
            _COMPUTE_MODES.get(self._number("nvmlDeviceGetComputeMode", ctypes.c_int, handle) or 0, ""),
        )

    def _slices(self, handle: Any) -> Iterator[MigSlice]:
        most = self._number("nvmlDeviceGetMaxMigDeviceCount", ctypes.c_uint, handle) or 0
        for number in range(most):
            part = ctypes.c_void_p()
            name = "nvmlDeviceGetMigDeviceHandleByIndex"
            if self._call(name, handle, ctypes.c_uint(number), ctypes.byref(part)):
                yield MigSlice(self._text("nvmlDeviceGetName", part), self._memory(part))

    def _handle(self, function: str, key: Any) -> Any:
        handle = ctypes.c_void_p()
        return handle if self._call(function, key, ctypes.byref(handle)) else None

    def _memory(self, handle: Any) -> int | None:
        memory = _Memory()
        return memory.total if self._call("nvmlDeviceGetMemoryInfo", handle, ctypes.byref(memory)) else None

    def _text(self, function: str, *args: Any) -> str:
        text = ctypes.create_string_buffer(_TEXT_BYTES)
        found = self._call(function, *args, text, ctypes.c_uint(_TEXT_BYTES))
        return text.value.decode(errors="replace") if found else ""

    def _number(self, function: str, kind: type[Any], *args: Any) -> int | None:
        number = kind()
        return int(number.value) if self._call(function, *args, ctypes.byref(number)) else None

    def _call(self, function: str, *args: Any) -> bool:
        """Call a function of the library and return whether it succeeded; an old driver may lack it."""
        try:
            return bool(getattr(self._library, function)(*args) == 0)
        except AttributeError:
            return False


@cache
def open_nvml() -> Nvml | None:
    """Return the management library of the NVIDIA driver; None if it is not installed."""
    try:
        return Nvml(ctypes.CDLL("nvml.dll" if sys.platform == "win32" else "libnvidia-ml.so.1"))
    except OSError:
        return None
