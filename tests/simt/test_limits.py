"""Limits of a launch: threads, memory, and interruption with Ctrl-C."""

from __future__ import annotations

import gc
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from gpulab.errors import LaunchError
from tests.simt.programs import simulator


def test_launch_with_too_many_threads_is_rejected() -> None:
    device = simulator()
    kernel = device.compile("__global__ void k(float* a) { a[0] = 1; }")
    with pytest.raises(LaunchError):
        kernel(1_000_000, 1024, (device.zeros(1),))


def test_launch_with_too_much_local_memory_is_rejected() -> None:
    device = simulator()
    kernel = device.load_ptx("""
        .version 8.0
        .target sm_80
        .address_size 64
        .visible .entry k() {
            .local .align 4 .b8 big[1073741824];
            .reg .u32 %r<2>;
            mov.u32 %r1, 1;
            st.local.u32 [big], %r1;
            ret;
        }""")
    with pytest.raises(LaunchError):
        kernel(1, 32, ())


PROGRAM = """
import signal
import gpulab, numpy as np
signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs of a shell ignore SIGINT
device = gpulab.device("sim")
device.budget = 1 << 62
a = device.zeros(32)
endless = device.compile("__global__ void k(float* a) {{ volatile float* v = a; {body} }}")
print("ready", flush=True)
try:
    endless({grid}, 64, (a,))
except KeyboardInterrupt:
    print("stopped", flush=True)
device.compile("__global__ void k(float* a) {{ a[threadIdx.x] = 5; }}")(1, 32, (a,))
assert (device.asnumpy(a) == 5).all()
print("usable", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGINT")
@pytest.mark.parametrize(
    ("body", "grid"),
    [
        ("while (true) v[0] = 1;", 1),
        ("while (true) __syncthreads();", 1),
        ("for (int i = 0; i < 1000; ++i) v[0] = i;", 8_000_000),
    ],
    ids=["loop", "barriers", "large grid"],
)
def test_keyboard_interrupt_stops_a_kernel_and_keeps_the_device_usable(body: str, grid: int) -> None:
    program = PROGRAM.format(body=body, grid=grid)
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        assert process.stdout.read().split() == ["stopped", "usable"]
    assert process.returncode == 0


def test_array_collected_during_a_launch_does_not_block() -> None:
    # The garbage collector may run in the thread that holds the lock of the device's memory.
    device = simulator()
    kernel = device.compile('extern "C" __global__ void k(int* x) { x[threadIdx.x] = 1; }')
    before = gc.get_threshold()
    gc.set_threshold(1, 1, 1)
    try:
        for _ in range(100):
            ring: list[object] = [device.zeros(32, np.int32)]
            ring.append(ring)  # a reference cycle, which only the collector frees
            kernel(1, 32, (ring[0],))
    finally:
        gc.set_threshold(*before)
