"""The memory of a device: its arrays, textures and streams, as part of the interface of devices."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import numpy.typing as npt

from gpulab.devices.streams import DeviceOperation, OperationObserver, Stream
from gpulab.devices.textures import (
    AddressMode,
    Filter,
    Read,
    SurfaceObject,
    TextureMaker,
    TextureMemory,
    TextureObject,
)
from gpulab.errors import UsageError

__all__ = ["Array", "DeviceMemory"]

Array = Any  # an array on a device with `shape`, `dtype` and `nbytes`: `cupy.ndarray` or `SimulatedArray`


class DeviceMemory(ABC):
    """The base class of `Device` for arrays, textures and streams.

    Attributes
    ----------
    name : str
        The name of the device, for error messages.
    observer : callable or None
        Called with each operation; set while a timeline records the device's operations.
    """

    name: str
    observer: OperationObserver | None = None

    @abstractmethod
    def asarray(self, host: npt.ArrayLike, *, stream: Stream | None = None) -> Array:
        """Copy an array to the device.

        Parameters
        ----------
        host : array_like
            A NumPy array, or anything that `numpy.asarray` accepts. An array of the device is returned
            unchanged.
        stream : Stream, optional
            A stream of the device, on which the copy is queued. The host waits for the copy nevertheless if
            `host` is not page-locked (see `pinned_empty`).

        Returns
        -------
        array
            An array of the device with the same shape and dtype, in C order.

        Raises
        ------
        GpulabError
            If the elements are Python objects, or the device does not have enough free memory.

        Examples
        --------
        >>> import numpy as np
        >>> import gpulab
        >>> dev = gpulab.device("sim")
        >>> dev.asarray(np.zeros((2, 3), np.float32)).nbytes
        24
        """

    @abstractmethod
    def asnumpy(
        self, array: Array, *, stream: Stream | None = None, out: npt.NDArray[Any] | None = None
    ) -> npt.NDArray[Any]:
        """Copy an array of the device to the host.

        Parameters
        ----------
        array : array
            An array of this device.
        stream : Stream, optional
            A stream of the device, on which the copy is queued. Call `Stream.synchronize` before reading the
            result.
        out : numpy.ndarray, optional
            The destination, of the same shape and dtype. The host waits for the copy if it is not page-locked
            (see `pinned_empty`).

        Returns
        -------
        numpy.ndarray
            `out`, or a new array with the same shape and dtype.

        Raises
        ------
        LaunchError
            If the array belongs to another device, or a kernel failed before.
        UsageError
            If `out` has another shape or dtype.

        Examples
        --------
        >>> import gpulab
        >>> dev = gpulab.device("sim")
        >>> dev.asnumpy(dev.full((2, 2), 7, "int32"))
        array([[7, 7],
               [7, 7]], dtype=int32)
        """

    @abstractmethod
    def empty(self, shape: int | Sequence[int], dtype: npt.DTypeLike = np.float32) -> Array:
        """Allocate an array without initialising it.

        Parameters
        ----------
        shape : int or sequence of int
            Size of each dimension.
        dtype : dtype, optional
            Type of the elements; by default ``float32``.

        Returns
        -------
        array
            An array of the device in C order. `gpulab.sanitize` reports reads of elements that were never
            written.

        Raises
        ------
        GpulabError
            If a size is negative, or the device does not have enough free memory.
        """

    def zeros(self, shape: int | Sequence[int], dtype: npt.DTypeLike = np.float32) -> Array:
        """Allocate an array of zeros.

        Parameters
        ----------
        shape : int or sequence of int
            Size of each dimension.
        dtype : dtype, optional
            Type of the elements; by default ``float32``.

        Returns
        -------
        array
            An array of the device in C order.

        Raises
        ------
        GpulabError
            If the device does not have enough free memory.
        """
        return self.full(shape, 0, dtype)

    def full(
        self, shape: int | Sequence[int], fill_value: object, dtype: npt.DTypeLike = np.float32
    ) -> Array:
        """Allocate an array and fill it with a value.

        Parameters
        ----------
        shape : int or sequence of int
            Size of each dimension.
        fill_value : scalar
            The value of all elements.
        dtype : dtype, optional
            Type of the elements; by default ``float32``.

        Returns
        -------
        array
            An array of the device in C order.

        Raises
        ------
        GpulabError
            If the device does not have enough free memory.
        """
        return self.asarray(np.full(shape, fill_value, dtype))

    def empty_like(self, array: Array) -> Array:
        """Allocate an array with the shape and dtype of another one, without initialising it.

        Parameters
        ----------
        array : array
            An array of any device, or a NumPy array.

        Returns
        -------
        array
            An array of this device in C order.

        Raises
        ------
        GpulabError
            If the device does not have enough free memory.
        """
        return self.empty(array.shape, array.dtype)

    def pinned_empty(self, shape: int | Sequence[int], dtype: npt.DTypeLike = np.float32) -> Any:
        """Allocate an uninitialised array in page-locked memory of the host.

        Only copies from and to such memory can run at the same time as kernels and the host.

        Parameters
        ----------
        shape : int or sequence of int
            Size of each dimension.
        dtype : dtype, optional
            Type of the elements; by default ``float32``.

        Returns
        -------
        numpy.ndarray
            An array in C order. Slices of it are page-locked too; results of arithmetic are not.

        Raises
        ------
        GpulabError
            If the host does not have enough memory.

        Examples
        --------
        >>> import gpulab
        >>> gpulab.device("sim").pinned_empty((2, 3)).shape
        (2, 3)
        """
        del shape, dtype
        raise UsageError(f"{self.name} has no page-locked memory.")

    def texture(
        self,
        source: Any,
        *,
        filter: Filter = "point",  # noqa: A002 - CUDA's word
        address: AddressMode | Sequence[AddressMode] = "clamp",
        normalized: bool = False,
        read: Read = "element",
        channels: int = 1,
        layered: bool = False,
        memory: TextureMemory = "array",
    ) -> TextureObject:
        """Create a texture object, an argument for a parameter of type ``cudaTextureObject_t``.

        Parameters
        ----------
        source : array_like, array, TextureObject or SurfaceObject
            The texels: a NumPy array or an array of the device, of shape ``(width,)``, ``(height, width)`` or
            ``(depth, height, width)``. The elements are integers of 8, 16 or 32 bits, ``float16`` or
            ``float32``. A texture or surface of this device shares its memory, channels and layers with the
            new one.
        filter : {"point", "linear"}, optional
            The nearest texel, or the mean of the texels around the coordinates.
        address : {"clamp", "border", "wrap", "mirror"}, or one for each axis, optional
            Texels outside the texture: those at its edge, zeros, or the texture repeated. "wrap" and "mirror"
            need normalised coordinates. The order of the axes is x, y, z.
        normalized : bool, optional
            Coordinates run from 0 to 1 over the texture, not from 0 to the number of texels.
        read : {"element", "normalized"}, optional
            "normalized" reads integers of 8 and 16 bits as floats in [0, 1], or [-1, 1] if they are signed.
        channels : {1, 2, 4}, optional
            Elements of a texel, along an additional last axis of the array: 4 for ``uchar4`` and ``float4``.
        layered : bool, optional
            The first of three axes counts independent 2-D layers, for ``tex2DLayered``.
        memory : {"array", "linear"}, optional
            "array" copies the texels to a CUDA array. "linear" reads the device array itself: a 1-D array
            for ``tex1Dfetch``, a 2-D array with rows of a multiple of 32 bytes for ``tex2D``.

        Returns
        -------
        TextureObject
            The texture. It must exist while kernels use it. `asnumpy` copies its texels to the host, and its
            method `set` copies others to it.

        Raises
        ------
        UsageError
            If CUDA has no such texture.

        Notes
        -----
        A linear filter rounds the position between two texels to a multiple of 1/256 (CUDA C++ Programming
        Guide, "Linear Filtering").

        Examples
        --------
        >>> import gpulab, numpy as np
        >>> dev = gpulab.device("sim")
        >>> kernel = dev.compile('''
        ... __global__ void sample(cudaTextureObject_t texture, float* y)
        ... {
        ...     y[threadIdx.x] = tex1D<float>(texture, threadIdx.x + 1.0f);
        ... }''')
        >>> texture = dev.texture(np.float32([0, 10, 20]), filter="linear")
        >>> y = dev.zeros(3)
        >>> kernel(1, 3, (texture, y))
        >>> dev.asnumpy(y)
        array([ 5., 15., 20.], dtype=float32)
        """
        return self.texture_maker().texture(
            source, filter, address, normalized, read, channels, layered, memory
        )

    def surface(self, source: Any, *, channels: int = 1, layered: bool = False) -> SurfaceObject:
        """Create a surface object, an argument for a parameter of type ``cudaSurfaceObject_t``.

        Parameters
        ----------
        source : array_like, array, TextureObject or SurfaceObject
            As for `texture`. Arrays are copied to a CUDA array, which ``dev.texture(surface)`` shares.
        channels, layered
            As for `texture`.

        Returns
        -------
        SurfaceObject
            The surface. It must exist while kernels use it. `asnumpy` copies its contents to the host.

        Raises
        ------
        UsageError
            If CUDA has no such surface.

        Examples
        --------
        The x coordinate of a surface counts bytes:

        >>> import gpulab, numpy as np
        >>> dev = gpulab.device("sim")
        >>> kernel = dev.compile('''
        ... __global__ void fill(cudaSurfaceObject_t surface)
        ... {
        ...     surf2Dwrite(10 * threadIdx.y + threadIdx.x, surface, threadIdx.x * sizeof(int), threadIdx.y);
        ... }''')
        >>> surface = dev.surface(np.zeros((2, 3), np.int32))
        >>> kernel(1, (3, 2), (surface,))
        >>> dev.asnumpy(surface)
        array([[ 0,  1,  2],
               [10, 11, 12]], dtype=int32)
        """
        return self.texture_maker().surface(source, channels, layered)

    def texture_maker(self) -> TextureMaker:
        """Return the part of the device that creates texture and surface objects."""
        raise UsageError(f"{self.name} has no textures.")

    def stream(self) -> Stream:
        """Create a stream: a queue of copies and kernels, which may overlap with those of other streams.

        The simulator runs the operations one after the other, in the order in which they are queued, and a
        copy to page-locked memory arrives when the stream is synchronised. `gpulab.timeline` models when each
        operation would run on a GPU.

        Returns
        -------
        Stream
            Pass it as `stream` to kernels, `asarray` and `asnumpy`.

        Examples
        --------
        >>> import gpulab
        >>> stream = gpulab.device("sim").stream()
        >>> stream.synchronize()
        """
        raise UsageError(f"{self.name} has no streams.")

    def observed(self, operation: DeviceOperation) -> AbstractContextManager[None]:
        """Return the context in which the device starts an operation."""
        return nullcontext() if self.observer is None else self.observer(operation)
