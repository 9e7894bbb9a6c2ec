"""Memory that a thread takes of its stack at run time."""

from __future__ import annotations

import numpy as np
import pytest

import gpulab
from tests.simt.ptx_harness import entry, launch

SUM = """{header}
__device__ int sum(int n) {{
    int* a = (int*)alloca(n * sizeof(int));
    for (int i = 0; i < n; i++) a[i] = i;
    int s = 0;
    for (int i = n; i--;) s += a[i];
    return s;
}}
__global__ void k(int* out, int n) {{ out[threadIdx.x] = sum(n + threadIdx.x) + sum(n); }}"""


@pytest.mark.parametrize("header", ["", "#include <alloca.h>", "#include <stdlib.h>", "#include <cstdlib>"])
def test_threads_take_different_sizes(header: str) -> None:
    device = gpulab.device("sim")
    kernel, out = device.compile(SUM.format(header=header)), device.zeros(64, np.int32)
    kernel(1, 64, (out, 5))
    size = 5 + np.arange(64)
    np.testing.assert_array_equal(device.asnumpy(out), size * (size - 1) // 2 + 10)
    assert kernel.resources.registers > 0  # the assembler accepts it, too


def test_stack_that_is_too_small_is_a_fault() -> None:
    device = gpulab.device("sim")
    with pytest.raises(gpulab.MemoryFault) as error:
        device.compile(SUM.format(header=""))(1, 32, (device.zeros(32, np.int32), 5000))
    assert error.value.findings[0].space == "local"


def test_alignment_and_restored_stack() -> None:
    body = """\tstacksave.u64 %rd5;
\talloca.u64 %rd6, 24;
\talloca.u32 %rd7, 8, 64;
\tst.local.u32 [%rd6+20], 5;
\tst.local.u32 [%rd7+4], 7;
\tld.local.u32 %r5, [%rd6+20];
\tand.b64 %rd8, %rd7, 63;
\tcvt.u32.u64 %r6, %rd8;
\tadd.u32 %r5, %r5, %r6;
\tstackrestore.u64 %rd5;
\talloca.u64 %rd8, 8;
\tsub.s64 %rd8, %rd8, %rd6;
\tcvt.u32.u64 %r6, %rd8;
\tadd.u32 %r5, %r5, %r6;
\tmul.wide.u32 %rd9, %r0, 4;
\tadd.s64 %rd9, %rd0, %rd9;
\tst.global.u32 [%rd9], %r5;"""
    (result,) = launch(entry(1, body), 1, 32, np.zeros(32, np.uint32))
    assert result.tolist() == [5] * 32
