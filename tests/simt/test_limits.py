"""What bounds a launch: threads, memory, and a person who presses Ctrl-C."""

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


def test_a_billion_threads_are_refused() -> None:
    device = simulator()
    kernel = device.compile("__global__ void k(float* a) { a[0] = 1; }")
    with pytest.raises(LaunchError, match="threads"):
        kernel(1_000_000, 1024, (device.zeros(1),))


def test_a_gigabyte_of_local_memory_is_refused() -> None:
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
    with pytest.raises(LaunchError, match="local memory"):
        kernel(1, 32, ())


PROGRAM = """
import signal
import gpulab, numpy as np
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
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


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT to send")
@pytest.mark.parametrize(
    ("body", "grid"),
    [
        ("while (true) v[0] = 1;", 1),
        ("while (true) __syncthreads();", 1),
        ("for (int i = 0; i < 1000; ++i) v[0] = i;", 8_000_000),
    ],
    ids=["in a loop", "at barriers", "in a big grid"],
)
def test_ctrl_c_stops_a_kernel_and_leaves_the_device_usable(body: str, grid: int) -> None:
    program = PROGRAM.format(body=body, grid=grid)
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        assert process.stdout.read().split() == ["stopped", "usable"]
    assert process.returncode == 0


def test_arrays_that_the_collector_frees_in_the_middle_of_a_launch_do_no_harm() -> None:
    # The collector may run while the device's table of arrays is being read, in the thread that reads it.
    device = simulator()
    kernel = device.compile('extern "C" __global__ void k(int* x) { x[threadIdx.x] = 1; }')
    before = gc.get_threshold()
    gc.set_threshold(1, 1, 1)
    try:
        for _ in range(100):
            ring: list[object] = [device.zeros(32, np.int32)]
            ring.append(ring)  # which only the collector takes apart
            kernel(1, 32, (ring[0],))
    finally:
        gc.set_threshold(*before)
