"""Bulk copies between global and shared memory: values, bounds, races and counts."""

from __future__ import annotations

import numpy as np
import pytest

import gpulab
from gpulab.simt.instrument.counters.counter_recorder import CounterRecorder
from tests.simt.ptx_harness import entry, launch

TILE = "\t.shared .align 16 .b8 tile[2048];\n\t.shared .align 8 .b64 bar;\n"
# The first thread copies %r6 bytes from [%rd0] to the tile. All threads wait, and store the tile to [%rd1].
COPY = """
\tsetp.eq.u32 %p1, %r2, 0;
\t@%p1 mbarrier.init.shared.b64 [bar], 1;
\tmov.u32 %r6, {size};
\tmov.u32 %r7, bar;
\tmov.u32 %r8, tile;
\tbar.sync 0;
\t@!%p1 bra WAIT;
\tmbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], %r6;
\tcp.async.bulk.{spaces}.mbarrier::complete_tx::bytes [%r8], [%rd0], %r6, [%r7];
WAIT:
\tmbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], 0;
\t@!%p2 bra WAIT;
\tmul.wide.u32 %rd5, %r2, 4;
\tadd.s64 %rd6, %rd1, %rd5;
\tcvt.u32.u64 %r9, %rd5;
\tadd.u32 %r9, %r9, %r8;
\tld.shared.u32 %r10, [%r9];
\tst.global.u32 [%rd6], %r10;"""


def copied(
    size: int, threads: int = 512, source: int = 512, spaces: str = "shared::cta.global"
) -> np.ndarray:
    text = entry(2, COPY.format(size=size, spaces=spaces), TILE)
    values = np.arange(1, source + 1, dtype=np.uint32)
    return launch(text, 1, threads, values, np.zeros(threads, np.uint32))[1]


@pytest.mark.parametrize("size", [16, 48, 512, 528, 2048])
@pytest.mark.parametrize("spaces", ["shared::cta.global", "shared::cluster.global"])
def test_bytes_are_copied_and_no_others(size: int, spaces: str) -> None:
    expected = np.arange(1, 513, dtype=np.uint32)
    expected[size // 4 :] = 0xFFFFFFFF  # shared memory that was not written
    np.testing.assert_array_equal(copied(size, spaces=spaces), expected)


@pytest.mark.parametrize("threads", [16, 45])
def test_copy_by_a_warp_that_is_not_full(threads: int) -> None:
    np.testing.assert_array_equal(copied(2048, threads), np.arange(1, threads + 1))


def test_copy_past_the_end_names_the_thread_that_copies() -> None:
    with pytest.raises(gpulab.MemoryFault) as error:
        copied(1040, source=256)
    (finding,) = error.value.findings
    assert (finding.kind, finding.thread) == ("out_of_bounds_read", (0, 0, 0))


def test_copy_past_the_end_of_shared_memory_faults() -> None:
    with pytest.raises(gpulab.MemoryFault, match="shared"):
        copied(4096, source=2048)


def test_size_must_be_a_multiple_of_16_bytes() -> None:
    with pytest.raises(gpulab.MemoryFault) as error:
        copied(24)
    assert error.value.findings[0].kind == "misaligned"


def test_lanes_copy_different_parts() -> None:
    body = """
\tmov.u32 %r8, tile;
\tshl.b32 %r5, %r2, 6;
\tadd.u32 %r9, %r5, %r8;
\tcvt.u64.u32 %rd5, %r5;
\tadd.s64 %rd6, %rd0, %rd5;
\tst.shared.u32 [%r9], %r2;
\tst.shared.u32 [%r9+48], %r5;
\tfence.proxy.async.shared::cta;
\tcp.async.bulk.global.shared::cta.bulk_group [%rd6], [%r9], 64;
\tcp.async.bulk.commit_group;
\tcp.async.bulk.wait_group.read 0;"""
    (result,) = launch(entry(1, body, TILE), 1, 32, np.zeros(512, np.uint32))
    lanes = np.arange(32)
    np.testing.assert_array_equal(result[::16], lanes)
    np.testing.assert_array_equal(result[12::16], 64 * lanes)


SOURCE = """#include <cuda/barrier>
#include <cooperative_groups.h>
__global__ void tile(const float4* in, float4* out, int n) {
    __shared__ alignas(128) float4 s[96];
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    auto block = cooperative_groups::this_thread_block();
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
    for (int first = blockIdx.x * 96; first < n; first += gridDim.x * 96) {
        cuda::memcpy_async(block, s, in + first, cuda::aligned_size_t<16>(sizeof(s)), bar);
        bar.WAIT();
        for (int i = threadIdx.x; i < 96; i += blockDim.x) out[first + i] = s[95 - i];
        __syncthreads();
    }
}"""


def run_tiles(wait: str) -> tuple[gpulab.Kernel, tuple[object, ...], np.ndarray, np.ndarray]:
    device = gpulab.device("sim:h200")
    kernel = device.compile(SOURCE.replace("WAIT", wait))
    values = np.arange(4 * 960, dtype=np.float32)
    args = (device.asarray(values), device.zeros(4 * 960), 960)
    kernel(3, 64, args)
    return kernel, args, values.reshape(10, 96, 4)[:, ::-1].ravel(), device.asnumpy(args[1])


def test_memcpy_async_with_a_barrier_copies_in_bulk() -> None:
    kernel, args, expected, result = run_tiles("arrive_and_wait")
    assert "cp.async.bulk" in kernel.program.ptx
    np.testing.assert_array_equal(result, expected)
    assert gpulab.sanitize(kernel, 3, 64, args) == []


def test_data_that_is_read_without_waiting_is_a_race() -> None:
    kernel, args, _, _ = run_tiles("arrive")
    (finding,) = gpulab.sanitize(kernel, 3, 64, args)
    assert (finding.tool, finding.kind, finding.line) == ("racecheck", "read_after_write", 12)
    assert "asynchronous copy" in finding.message


def test_traffic_of_a_bulk_copy_is_counted() -> None:
    kernel, args, _, _ = run_tiles("arrive_and_wait")
    counts = gpulab.counters(kernel, 3, 64, args)
    copies = [access for access in counts.accesses if access.kind == "bulk copy" and access.space == "global"]
    assert sum(access.sectors for access in copies) == 960 * 16 // 32
    assert counts["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"] == 0


def test_waiting_for_a_bulk_copy_counts_once() -> None:
    """A GPU suspends a warp at `mbarrier.try_wait`; the simulator repeats it until the copy has arrived."""
    kernel, args, _, _ = run_tiles("arrive_and_wait")
    recorder = CounterRecorder()
    kernel.record(recorder, (3, 1, 1), (64, 1, 1), args)
    (waits,) = {block.number for block in kernel.flow.blocks for i in block.code if "try_wait" in i.parts}
    tiles, warps = 10, 2
    assert recorder.blocks()[waits].tolist() == [tiles * warps, tiles * warps * 32, 0]


def test_bulk_copies_are_traced() -> None:
    kernel, args, _, _ = run_tiles("arrive_and_wait")
    assert gpulab.profile(kernel, 3, 64, args).time_ms > 0
