"""Texture and surface objects of the simulator."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gpulab.devices.base import RecordableDevice
from gpulab.devices.textures import (
    ALIGNMENT,
    DeviceTexture,
    Sampling,
    SurfaceObject,
    TexelLayout,
    TextureMaker,
    TextureMemory,
    TextureObject,
)
from gpulab.errors import UsageError
from gpulab.simt.runtime.texture_table import TextureRow

__all__ = ["SimulatedSurface", "SimulatedTexture", "SimulatedTextures"]


class SimulatedTexture(TextureObject):
    """A texture object of the simulator; its memory is a device array that kernels have no pointer to."""

    def __init__(
        self,
        device: RecordableDevice,
        layout: TexelLayout,
        storage: Any,
        memory: TextureMemory,
        parameters: Sampling,
    ) -> None:
        super().__init__(device, layout, storage, memory, parameters)
        fetched = memory == "linear" and len(layout.extents) == 1
        self.ptr = device.textures.add(
            self,
            TextureRow(
                **_place(layout, storage) | ({"geometry": "linear"} if fetched else {}),
                linear=parameters.filter == "linear",
                normalized=parameters.normalized,
                read_normalized=parameters.read == "normalized",
                modes=parameters.address,
            ),
        )


class SimulatedSurface(SurfaceObject):
    """A surface object of the simulator."""

    def __init__(self, device: RecordableDevice, layout: TexelLayout, storage: Any) -> None:
        super().__init__(device, layout, storage, "array")
        self.ptr = device.textures.add(self, TextureRow(**_place(layout, storage), surface=True))


def _place(layout: TexelLayout, storage: Any) -> dict[str, Any]:
    """Return the fields of `TextureRow` that describe the memory of an object."""
    extents = (*layout.extents, *(1,) * (3 - len(layout.extents)))
    return {
        "geometry": layout.geometry,
        "host": storage.allocation.host.ctypes.data,
        "extents": extents,
        "row_bytes": layout.row_bytes,
        "slice_bytes": layout.row_bytes * extents[1],
        "channels": layout.channels,
        "dtype": layout.dtype.name,
    }


class SimulatedTextures(TextureMaker):
    """The texture and surface objects of a simulated device."""

    def __init__(self, device: RecordableDevice) -> None:
        self._device = device

    def owns(self, source: object) -> bool:
        array = source.storage if isinstance(source, DeviceTexture) else source
        return getattr(array, "memory", None) is self._device.memory

    def contents_of(self, source: Any) -> npt.NDArray[Any]:
        return source.view() if self.owns(source) else np.asarray(source)

    def array_memory(self, layout: TexelLayout, contents: Any) -> Any:  # noqa: ARG002
        return self._device.asarray(contents)

    def linear_memory(self, source: Any) -> Any:
        offset = source.allocation.address - source.whole.allocation.address
        if offset % ALIGNMENT:
            raise UsageError(
                f"linear memory of a texture must begin at a multiple of {ALIGNMENT} bytes, and this part of "
                f"an array begins at byte {offset}."
            )
        return source

    def make_texture(
        self, layout: TexelLayout, storage: Any, memory: TextureMemory, parameters: Sampling
    ) -> SimulatedTexture:
        return SimulatedTexture(self._device, layout, storage, memory, parameters)

    def make_surface(self, layout: TexelLayout, storage: Any) -> SimulatedSurface:
        return SimulatedSurface(self._device, layout, storage)
