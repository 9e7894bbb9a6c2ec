"""Host memory that repeats a pattern and is committed where it is written.

A large array takes little memory if all of it repeats a short pattern. On Linux its pages are private
mappings of one file in memory: they share the pattern, and the host copies a page when it is written.
"""

from __future__ import annotations

import ctypes
import mmap
import os
from functools import cache
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["PAGE_BYTES", "copies_on_write", "repeated"]

PAGE_BYTES = mmap.ALLOCATIONGRANULARITY
_MAP_FIXED = 0x10  # from <bits/mman.h>; Python's mmap module does not define it


def repeated(pattern: npt.NDArray[Any], shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """Return an array of this shape that repeats `pattern`, whose size is a multiple of `PAGE_BYTES`.

    It is an ordinary array if the host has no files in memory.
    """
    try:
        file = os.memfd_create("gpulab-repeated")
    except (AttributeError, OSError):
        return np.resize(pattern, shape)
    try:
        with os.fdopen(os.dup(file), "wb") as writer:
            writer.write(np.ascontiguousarray(pattern).data)
        memory = copies_on_write(file, pattern.nbytes, prod(shape) * pattern.itemsize)
    finally:
        os.close(file)
    return memory.view(pattern.dtype).reshape(shape)


def copies_on_write(file: int, length: int, size: int) -> npt.NDArray[np.uint8]:
    """Return `size` bytes whose pages are copies on write of the first `length` bytes of a file, repeated.

    `length` is a multiple of `PAGE_BYTES`. Linux only; raises `OSError` if the pages cannot be mapped.
    """
    whole = -(-size // PAGE_BYTES) * PAGE_BYTES
    memory = mmap.mmap(-1, whole, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    array = np.frombuffer(memory, np.uint8, size)
    protection, flags = mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | _MAP_FIXED
    for offset in range(0, whole, length):
        address = array.ctypes.data + offset
        mapped = _system_mmap()(address, min(length, whole - offset), protection, flags, file, 0)
        if mapped != address:
            raise OSError(ctypes.get_errno(), "mmap failed")
    return array


@cache
def _system_mmap() -> Any:
    function = ctypes.CDLL(None, use_errno=True).mmap
    function.restype = ctypes.c_void_p
    function.argtypes = [
        ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long,
    ]  # fmt: skip
    return function
