"""Texture and surface objects of a CUDA GPU, created through `cupy.cuda.texture`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gpulab.devices.base import Device
from gpulab.devices.cuda.cuda_context import CudaContext
from gpulab.devices.textures import (
    DeviceTexture,
    Sampling,
    Storage,
    SurfaceObject,
    TexelLayout,
    TextureMaker,
    TextureMemory,
    TextureObject,
)
from gpulab.errors import UsageError

__all__ = ["CudaArray", "CudaSurface", "CudaTexture", "CudaTextures"]

LAYERED, SURFACE = 0x01, 0x02  # cudaArrayLayered, cudaArraySurfaceLoadStore: part of CUDA's binary interface


class CudaArray(Storage):
    """A CUDA array (`cudaArray_t`): memory in the layout that texture units read.

    Attributes
    ----------
    array : cupy.cuda.texture.CUDAarray
        The array.
    """

    def __init__(self, device: Device, context: CudaContext, layout: TexelLayout, contents: Any) -> None:
        self._device, self._context = device, context
        self._layout, self._shape = layout, contents.shape
        texture = context.cupy.cuda.texture
        flags = (SURFACE if layout.has_surface else 0) | (LAYERED if layout.layered else 0)
        extents = (*layout.extents, 0, 0)[:3]
        with self._context.activate("creating a CUDA array"):
            self.array = texture.CUDAarray(_channels(context, layout), *extents, flags)
        self._copy(contents)

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process copies the contents to an array of its own.
        return _load_array, (self._device, self._layout, self.get())

    def get(self) -> npt.NDArray[Any]:
        host = np.empty(self._rows(), self._layout.dtype)
        with self._context.activate("copying a CUDA array to the host"):
            self._context.wait()  # for kernels of other streams
            self.array.copy_to(host)
            self._context.wait()
        return host.reshape(self._shape)

    def set(self, host: Any) -> None:
        if not isinstance(host, np.ndarray) or (host.shape, host.dtype) != (self._shape, self._layout.dtype):
            raise UsageError(
                f"this texture takes a NumPy array of shape {self._shape} and dtype {self._layout.dtype}."
            )
        self._copy(np.ascontiguousarray(host))

    def _copy(self, contents: Any) -> None:
        with self._context.activate("copying to a CUDA array"):
            self._context.wait()
            self.array.copy_from(contents.reshape(self._rows()))
            self._context.wait()

    def _rows(self) -> tuple[int, ...]:
        """Return the shape in which CuPy copies: the channels of a texel are elements of a row."""
        width, *others = self._layout.extents
        return (*others[::-1], width * self._layout.channels)


class CudaTexture(TextureObject):
    """A texture object of a GPU.

    Attributes
    ----------
    texture : cupy.cuda.texture.TextureObject
        CuPy's object, which owns the handle.
    """

    def __init__(
        self,
        device: Device,
        context: CudaContext,
        layout: TexelLayout,
        storage: Any,
        memory: TextureMemory,
        parameters: Sampling,
    ) -> None:
        super().__init__(device, layout, storage, memory, parameters)
        cuda = context.cupy.cuda
        runtime = cuda.runtime
        # Axes that the texture does not have clamp, because an H200 filters a 1-D texture along y, too.
        modes = [getattr(runtime, f"cudaAddressMode{mode.capitalize()}") for mode in parameters.address]
        reads = "NormalizedFloat" if parameters.read == "normalized" else "ElementType"
        description = cuda.texture.TextureDescriptor(
            modes,
            getattr(runtime, f"cudaFilterMode{parameters.filter.capitalize()}"),
            getattr(runtime, f"cudaReadMode{reads}"),
            normalizedCoords=int(parameters.normalized),
        )
        with context.activate("creating a texture object"):
            self.texture = cuda.texture.TextureObject(_resource(context, layout, storage), description)
        self.ptr = int(self.texture.ptr)

    def __reduce__(self) -> tuple[Any, ...]:
        return _load_texture, (self.device, self.layout, self.storage, self.memory, self.sampling)


class CudaSurface(SurfaceObject):
    """A surface object of a GPU.

    Attributes
    ----------
    surface : cupy.cuda.texture.SurfaceObject
        CuPy's object, which owns the handle.
    """

    def __init__(self, device: Device, context: CudaContext, layout: TexelLayout, storage: CudaArray) -> None:
        super().__init__(device, layout, storage, "array")
        with context.activate("creating a surface object"):
            self.surface = context.cupy.cuda.texture.SurfaceObject(_resource(context, layout, storage))
        self.ptr = int(self.surface.ptr)

    def __reduce__(self) -> tuple[Any, ...]:
        return _load_surface, (self.device, self.layout, self.storage)


class CudaTextures(TextureMaker):
    """The texture and surface objects of a GPU."""

    def __init__(self, device: Device, context: CudaContext) -> None:
        self._device, self._context = device, context

    def owns(self, source: object) -> bool:
        if isinstance(source, DeviceTexture):
            return source.device is self._device
        return isinstance(source, self._context.cupy.ndarray)

    def contents_of(self, source: Any) -> Any:
        if not self.owns(source):
            return np.asarray(source, order="C")
        with self._context.activate("creating a CUDA array"):
            return self._context.cupy.ascontiguousarray(source)

    def array_memory(self, layout: TexelLayout, contents: Any) -> CudaArray:
        return CudaArray(self._device, self._context, layout, contents)

    def linear_memory(self, source: Any) -> Any:
        if not source.flags.c_contiguous:
            raise UsageError("linear memory of a texture must be contiguous: copy the part, x.copy().")
        return source

    def make_texture(
        self, layout: TexelLayout, storage: Any, memory: TextureMemory, parameters: Sampling
    ) -> CudaTexture:
        return CudaTexture(self._device, self._context, layout, storage, memory, parameters)

    def make_surface(self, layout: TexelLayout, storage: Any) -> CudaSurface:
        return CudaSurface(self._device, self._context, layout, storage)


def _load_array(device: Device, layout: TexelLayout, contents: npt.NDArray[Any]) -> Storage:
    return device.texture_maker().array_memory(layout, contents)


def _load_texture(
    device: Device, layout: TexelLayout, storage: Storage, memory: TextureMemory, parameters: Sampling
) -> TextureObject:
    return device.texture_maker().make_texture(layout, storage, memory, parameters)


def _load_surface(device: Device, layout: TexelLayout, storage: Storage) -> SurfaceObject:
    return device.texture_maker().make_surface(layout, storage)


def _channels(context: CudaContext, layout: TexelLayout) -> Any:
    """Return the channel format: the bits of each channel, and their kind."""
    cuda = context.cupy.cuda
    kind = {"f": "Float", "i": "Signed", "u": "Unsigned"}[layout.dtype.kind]
    bits = [8 * layout.dtype.itemsize] * layout.channels + [0] * (4 - layout.channels)
    return cuda.texture.ChannelFormatDescriptor(*bits, getattr(cuda.runtime, f"cudaChannelFormatKind{kind}"))


def _resource(context: CudaContext, layout: TexelLayout, storage: Any) -> Any:
    """Return the resource of an object: a CUDA array, or the linear memory of a CuPy array."""
    cuda = context.cupy.cuda
    if isinstance(storage, CudaArray):
        return cuda.texture.ResourceDescriptor(cuda.runtime.cudaResourceTypeArray, cuArr=storage.array)
    channels = _channels(context, layout)
    if len(layout.extents) == 1:
        return cuda.texture.ResourceDescriptor(
            cuda.runtime.cudaResourceTypeLinear, arr=storage, chDesc=channels, sizeInBytes=layout.row_bytes
        )
    width, height = layout.extents
    return cuda.texture.ResourceDescriptor(
        cuda.runtime.cudaResourceTypePitch2D,
        arr=storage,
        chDesc=channels,
        width=width,
        height=height,
        pitchInBytes=layout.row_bytes,
    )
