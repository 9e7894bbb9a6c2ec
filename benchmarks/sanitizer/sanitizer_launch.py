"""Launch one kernel through the driver API, for compute-sanitizer.

`python -I -S sanitizer_launch.py FOLDER`, where `compute_sanitizer.prepare` has written machine code and
arguments. It prints its progress. It imports neither NumPy nor CuPy, so it starts in a few hundredths of a
second, and no kernel of theirs runs next to the one that is checked.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys

REFUSED = 3  # exit status if the driver refuses a call


def read(name: str) -> bytes:
    with open(name, "rb") as file:  # noqa: PTH123 - importing pathlib takes as long as everything else
        return file.read()


def launch(folder: str) -> None:
    job = json.loads(read(f"{folder}/launch.json"))
    cuda = ctypes.CDLL("libcuda.so.1")

    def call(name: str, *arguments: object) -> None:
        status = getattr(cuda, name)(*arguments)
        if status:
            print(f"launch: {name} gives {status}", flush=True)
            os._exit(REFUSED)

    device, context = ctypes.c_int(), ctypes.c_void_p()
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    call("cuInit", 0)
    call("cuDeviceGet", ctypes.byref(device), 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    call("cuCtxSetCurrent", context)
    call("cuModuleLoadData", ctypes.byref(module), read(f"{folder}/kernel.cubin"))
    call("cuModuleGetFunction", ctypes.byref(function), module, job["entry"].encode())

    values = []
    for argument in job["arguments"]:
        if "value" in argument:
            value = bytes.fromhex(argument["value"])
        else:
            address, size = ctypes.c_uint64(), ctypes.c_size_t(argument["bytes"])
            call("cuMemAlloc_v2", ctypes.byref(address), size)
            if "file" in argument:
                call("cuMemcpyHtoD_v2", address, read(f"{folder}/{argument['file']}"), size)
            value = address.value.to_bytes(8, "little")
        values.append(ctypes.create_string_buffer(value, len(value)))
    pointers = (ctypes.c_void_p * max(1, len(values)))(*map(ctypes.addressof, values))
    sizes = [ctypes.c_uint(size) for size in (*job["grid"], *job["block"], job["shared_mem"])]
    print("launch: begins", flush=True)
    call("cuLaunchKernel", function, *sizes, None, pointers, None)
    call("cuCtxSynchronize")
    print("launch: ended", flush=True)


if __name__ == "__main__":
    launch(sys.argv[1])
