"""Texture and surface objects: what a kernel receives as `cudaTextureObject_t` and `cudaSurfaceObject_t`.

The rules are CUDA's (`cudaCreateTextureObject`), so that both devices refuse the same requests.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, get_args

import numpy as np
import numpy.typing as npt

from gpulab.errors import UsageError

__all__ = [
    "AddressMode",
    "DeviceTexture",
    "Filter",
    "Read",
    "Sampling",
    "Storage",
    "SurfaceObject",
    "TexelLayout",
    "TextureMaker",
    "TextureMemory",
    "TextureObject",
    "sampling",
    "texel_layout",
]

Filter = Literal["point", "linear"]
AddressMode = Literal["clamp", "border", "wrap", "mirror"]
Read = Literal["element", "normalized"]
TextureMemory = Literal["array", "linear"]

DTYPES = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "float16", "float32")
PITCH_ALIGNMENT = 32  # bytes: cudaDeviceProp::texturePitchAlignment of all current GPUs
ALIGNMENT = 512  # bytes: cudaDeviceProp::textureAlignment
# Largest extents in texels, x first (CUDA C++ Programming Guide, "Technical Specifications per Compute
# Capability", capability 7.5 and later).
LIMITS = {1: (131072,), 2: (131072, 65536), 3: (16384, 16384, 16384)}
LAYERED_LIMITS = (32768, 32768, 2048)
LINEAR_LIMIT = 1 << 28  # texels of linear memory
SURFACE_LIMIT = 32768  # texels of a 1-D surface


class Storage(Protocol):
    """The memory of a texture: an array of the device or a CUDA array."""

    def get(self) -> npt.NDArray[Any]:
        """Return a copy on the host."""

    def set(self, host: Any) -> None:
        """Copy a NumPy array of the same shape and dtype to the memory."""


@dataclass(frozen=True)
class TexelLayout:
    """Extents and element type of a texture or surface.

    Attributes
    ----------
    extents : tuple of int
        Width, height and depth in texels, as many as there are axes. The depth of a layered texture is its
        number of layers.
    channels : int
        Elements of a texel: 1, 2 or 4.
    dtype : numpy.dtype
        Type of the elements.
    layered : bool
        The texture is a stack of independent 2-D layers.
    """

    extents: tuple[int, ...]
    channels: int
    dtype: np.dtype[Any]
    layered: bool = False

    @property
    def geometry(self) -> str:
        """The name of the geometry in PTX: `1d`, `2d`, `3d` or `a2d`."""
        return "a2d" if self.layered else f"{len(self.extents)}d"

    @property
    def filtered_axes(self) -> int:
        """The number of axes along which texels are neighbours."""
        return 2 if self.layered else len(self.extents)

    @property
    def has_surface(self) -> bool:
        """True if a surface of these extents can exist."""
        return len(self.extents) > 1 or self.extents[0] <= SURFACE_LIMIT

    @property
    def row_bytes(self) -> int:
        return self.extents[0] * self.channels * self.dtype.itemsize

    @property
    def text(self) -> str:
        """The layout in words: `2-D, 7 x 5 texels of 4 uint8`."""
        kind = "layered 2-D" if self.layered else f"{len(self.extents)}-D"
        sizes = " x ".join(map(str, self.extents))
        count = f"{self.channels} " * (self.channels > 1)
        return f"{kind}, {sizes} texels of {count}{self.dtype}"


@dataclass(frozen=True)
class Sampling:
    """The parameters of a texture object; see `Device.texture`. `address` has a mode for x, y and z."""

    filter: Filter = "point"
    address: tuple[AddressMode, AddressMode, AddressMode] = ("clamp", "clamp", "clamp")
    normalized: bool = False
    read: Read = "element"


class DeviceTexture:
    """A texture or surface object of a device.

    Attributes
    ----------
    ptr : int
        The handle, which kernels receive.
    device : Device
        The device.
    layout : TexelLayout
        Extents and element type.
    storage : Storage
        The memory.
    memory : str
        "array" or "linear", see `Device.texture`.
    """

    ptr: int

    def __init__(self, device: Any, layout: TexelLayout, storage: Storage, memory: TextureMemory) -> None:
        self.device, self.layout, self.storage, self.memory = device, layout, storage, memory

    def get(self) -> npt.NDArray[Any]:
        """Return a copy of the contents on the host, as `dev.asnumpy`."""
        return self.storage.get()

    def set(self, host: npt.NDArray[Any]) -> None:
        """Copy a NumPy array of the same shape and dtype to the memory."""
        self.storage.set(host)

    def __repr__(self) -> str:
        noun = "surface" if isinstance(self, SurfaceObject) else "texture"
        return f"<{noun} object: {self.layout.text}, on {self.device.name}>"


class TextureObject(DeviceTexture):
    """A texture object: an argument for a parameter of type `cudaTextureObject_t`.

    `Device.texture` creates it. It must exist while kernels use it.

    Attributes
    ----------
    sampling : Sampling
        Its parameters.
    """

    def __init__(
        self,
        device: Any,
        layout: TexelLayout,
        storage: Storage,
        memory: TextureMemory,
        parameters: Sampling,
    ) -> None:
        super().__init__(device, layout, storage, memory)
        self.sampling = parameters


class SurfaceObject(DeviceTexture):
    """A surface object: an argument for a parameter of type `cudaSurfaceObject_t`.

    `Device.surface` creates it, and `Device.asnumpy` copies its contents to the host.
    """


class TextureMaker(ABC):
    """The part of a device that creates its texture and surface objects.

    `Device.texture` and `Device.surface` describe the parameters.
    """

    def texture(
        self,
        source: Any,
        filter: Filter,  # noqa: A002 - CUDA's word
        address: AddressMode | Sequence[AddressMode],
        normalized: bool,
        read: Read,
        channels: int,
        layered: bool,
        memory: TextureMemory,
    ) -> TextureObject:
        if isinstance(source, DeviceTexture):
            layout, storage, memory = self._shared(source)
        elif memory == "linear":
            layout = texel_layout(*self.form_of(source), channels, layered, memory)
            storage = self.linear_memory(source)
        else:
            contents = self.contents_of(source)
            layout = texel_layout(contents.shape, contents.dtype, channels, layered, memory)
            storage = self.array_memory(layout, contents)
        parameters = sampling(layout, memory, filter, address, normalized, read)
        return self.make_texture(layout, storage, memory, parameters)

    def surface(self, source: Any, channels: int, layered: bool) -> SurfaceObject:
        if isinstance(source, DeviceTexture):
            layout, storage, memory = self._shared(source)
            if memory == "linear":
                raise UsageError(
                    "a surface needs a CUDA array: create it from an array, not from linear memory."
                )
        else:
            contents = self.contents_of(source)
            layout = texel_layout(contents.shape, contents.dtype, channels, layered)
            storage = self.array_memory(layout, contents)
        if not layout.has_surface:
            raise UsageError(
                f"a 1-D surface has at most {SURFACE_LIMIT:,} texels, not {layout.extents[0]:,}."
            )
        return self.make_surface(layout, storage)

    def _shared(self, source: DeviceTexture) -> tuple[TexelLayout, Storage, TextureMemory]:
        if not self.owns(source):
            raise UsageError(f"{source!r} is an object of another device.")
        return source.layout, source.storage, source.memory

    def form_of(self, source: Any) -> tuple[tuple[int, ...], Any]:
        """Return shape and dtype of an array of the device; raise `UsageError` for anything else."""
        if not self.owns(source):
            raise UsageError("linear memory is that of a device array: pass dev.asarray(x).")
        return source.shape, source.dtype

    @abstractmethod
    def owns(self, source: object) -> bool:
        """Return True for an array, a texture or a surface of the device."""

    @abstractmethod
    def contents_of(self, source: Any) -> Any:
        """Return an array whose elements can be copied to a CUDA array."""

    @abstractmethod
    def array_memory(self, layout: TexelLayout, contents: Any) -> Storage:
        """Return a new CUDA array with these contents."""

    @abstractmethod
    def linear_memory(self, source: Any) -> Storage:
        """Return the memory of a device array; raise `UsageError` if CUDA does not accept it."""

    @abstractmethod
    def make_texture(
        self, layout: TexelLayout, storage: Any, memory: TextureMemory, parameters: Sampling
    ) -> TextureObject:
        """Create a texture object."""

    @abstractmethod
    def make_surface(self, layout: TexelLayout, storage: Any) -> SurfaceObject:
        """Create a surface object."""


def texel_layout(
    shape: Sequence[int],
    dtype: npt.DTypeLike,
    channels: int = 1,
    layered: bool = False,
    memory: TextureMemory = "array",
) -> TexelLayout:
    """Return the layout of a texture with the contents of an array; raise `UsageError` if CUDA has none."""
    kind = np.dtype(dtype)
    _require("memory", memory, TextureMemory)
    if kind.name not in DTYPES:
        raise UsageError(f"a texture has no elements of type {kind}; use one of {', '.join(DTYPES)}.")
    if channels not in (1, 2, 4):
        raise UsageError(f"a texel has 1, 2 or 4 channels, not {channels}.")

    sizes = tuple(shape)
    if channels > 1:
        if not sizes or sizes[-1] != channels:
            raise UsageError(
                f"the last axis of a texture with {channels} channels must have {channels} elements; the "
                f"shape is {sizes}."
            )
        sizes = sizes[:-1]
    if not 1 <= len(sizes) <= 3 or 0 in sizes:
        raise UsageError(f"a texture has 1 to 3 axes, none of them empty; the shape is {tuple(shape)}.")
    if layered and len(sizes) != 3:
        raise UsageError("a layered texture needs an array of shape (layers, height, width).")

    extents = sizes[::-1]
    if memory == "linear":
        _check_linear(extents, channels * kind.itemsize, layered)
    limits = LAYERED_LIMITS if layered else LIMITS[len(extents)]
    if memory == "linear" and len(extents) == 1:
        limits = (LINEAR_LIMIT,)
    if any(extent > limit for extent, limit in zip(extents, limits, strict=True)):
        raise UsageError(
            f"a texture of {' x '.join(map(str, extents))} texels is too large; CUDA permits "
            f"{' x '.join(map(str, limits))}."
        )

    return TexelLayout(extents, channels, kind, layered)


def _check_linear(extents: tuple[int, ...], texel_bytes: int, layered: bool) -> None:
    if layered or len(extents) > 2:
        raise UsageError("linear memory has one or two axes: use memory='array'.")
    if len(extents) == 2 and extents[0] * texel_bytes % PITCH_ALIGNMENT:
        raise UsageError(
            f"the rows of a 2-D texture in linear memory must be a multiple of {PITCH_ALIGNMENT} bytes, and "
            f"these have {extents[0] * texel_bytes}: pad the rows, or use memory='array'."
        )


def sampling(
    layout: TexelLayout,
    memory: TextureMemory,
    filter: Filter,  # noqa: A002 - CUDA's word
    address: AddressMode | Sequence[AddressMode],
    normalized: bool,
    read: Read,
) -> Sampling:
    """Return the parameters of a texture object; raise `UsageError` if CUDA does not permit them."""
    _require("filter", filter, Filter)
    _require("read", read, Read)
    axes = layout.filtered_axes

    modes: tuple[Any, ...] = (address,) * axes if isinstance(address, str) else tuple(address)
    for mode in modes:
        _require("address", mode, AddressMode)
    if len(modes) != axes:
        raise UsageError(f"this texture has {axes} axes, and `address` has {len(modes)} modes.")
    if {"wrap", "mirror"}.intersection(modes) and not normalized:
        raise UsageError(
            "the address modes wrap and mirror need normalised coordinates (normalized=True); otherwise CUDA "
            "clamps."
        )

    integer = layout.dtype.kind in "iu"
    if read == "normalized" and (not integer or layout.dtype.itemsize > 2):
        raise UsageError(f"read='normalized' needs integers of 8 or 16 bits, not {layout.dtype}.")
    if filter == "linear" and integer and read == "element":
        raise UsageError(
            f"a linear filter gives floats: {layout.dtype} elements need read='normalized', which is for "
            "integers of 8 or 16 bits."
        )
    if memory == "linear" and len(layout.extents) == 1 and (filter == "linear" or normalized):
        raise UsageError(
            "tex1Dfetch reads linear memory by an index, without a filter and without normalised coordinates."
        )

    x, y, z = (*modes, "clamp", "clamp")[:3]
    return Sampling(filter, (x, y, z), bool(normalized), read)


def _require(name: str, value: object, choices: Any) -> None:
    legal = get_args(choices)
    if value not in legal:
        raise UsageError(f"{name}={value!r} is not one of {', '.join(map(repr, legal))}.")
