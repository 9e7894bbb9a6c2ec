"""Tests of mbarrier objects: counts, phases, and kernels that wait for them."""

from __future__ import annotations

import numpy as np
import pytest

import gpulab
from tests.simt.ptx_harness import entry, launch, simulator

BEGIN = "\t.shared .align 8 .b64 bar;\n"
# One thread initializes the object, and a barrier follows. %p1 is true for the first thread.
FIRST = "\tsetp.eq.u32 %p1, %r0, 0;\n\t@%p1 mbarrier.init.shared.b64 [bar], {count};\n\tbar.sync 0;\n"


def results(body: str, count: int, threads: int) -> np.ndarray:
    """Return %r5 of the threads of one block after a body with a newly initialized object."""
    store = "\n\tmul.wide.u32 %rd9, %r0, 4;\n\tadd.s64 %rd9, %rd0, %rd9;\n\tst.global.u32 [%rd9], %r5;"
    text = entry(1, FIRST.format(count=count) + body + store, BEGIN)
    (result,) = launch(text, 1, threads, np.zeros(threads, np.uint32))
    return result


def query(question: str) -> str:
    return f"\n\tmbarrier.{question};\n\tselp.u32 %r5, 1, 0, %p2;"


def test_each_arrival_returns_one_pending_arrival_fewer() -> None:
    body = "\tmbarrier.arrive.noComplete.shared.b64 %rd5, [bar], 1;\n\tmbarrier.pending_count.b64 %r5, %rd5;"
    assert results(body, 1000, 40).tolist() == list(range(1000, 960, -1))


def test_last_arrival_completes_the_phase() -> None:
    arrive = "\tmbarrier.arrive.shared::cta.b64 %rd5, [bar];\n\tbar.sync 0;"
    complete = query("test_wait.shared.b64 %p2, [bar], %rd5")
    assert results(arrive + complete, 40, 40).all()
    assert not results(arrive + complete, 41, 40).any()
    again = "\n\tmbarrier.arrive.release.cta.shared.b64 _, [bar];\n\tbar.sync 0;"  # a second phase
    assert not results(arrive + again + complete, 40, 40).any()


@pytest.mark.parametrize("turns", [0, 1, 2, 3])
def test_parity_of_a_phase(turns: int) -> None:
    arrive = "\tmbarrier.arrive.shared.b64 %rd5, [bar];\n\tbar.sync 0;\n" * turns
    for parity in (0, 1):
        done = query(f"try_wait.parity.acquire.cta.shared::cta.b64 %p2, [bar], {parity}, 100")
        assert (results(arrive + done, 32, 32) == ((turns - parity) % 2 == 1)).all()


def test_arrive_drop_reduces_the_expected_count() -> None:
    drop = "\tmbarrier.arrive_drop.shared.b64 %rd5, [bar];\n\tbar.sync 0;\n"
    count = "\tmbarrier.arrive.noComplete.shared.b64 %rd5, [bar], 1;\n\tmbarrier.pending_count.b64 %r5, %rd5;"
    assert results(drop + count, 40, 32).tolist() == list(range(8, 0, -1)) + list(range(8, 0, -1)) * 3
    several = "\t@%p1 mbarrier.arrive_drop.noComplete.shared.b64 %rd5, [bar], 30;\n\tbar.sync 0;\n"
    assert results(several + count, 100, 32).tolist() == list(range(70, 38, -1))


@pytest.mark.parametrize(("kind", "expected"), [("", 100), (".noinc", 68)])
def test_arrival_of_asynchronous_copies(kind: str, expected: int) -> None:
    body = f"""\tcp.async.mbarrier.arrive{kind}.shared.b64 [bar];
\tbar.sync 0;
\t@%p1 mbarrier.arrive.noComplete.shared.b64 %rd5, [bar], 1;
\tmbarrier.pending_count.b64 %r5, %rd5;"""
    assert results(body, 100, 32)[0] == expected


def test_generic_addresses() -> None:
    body = """\tmov.u64 %rd6, bar;\n\tcvta.shared.u64 %rd6, %rd6;
\tmbarrier.arrive.b64 %rd5, [%rd6];\n\tbar.sync 0;
\tmbarrier.test_wait.b64 %p2, [%rd6], %rd5;\n\tselp.u32 %r5, 1, 0, %p2;
\t@%p1 mbarrier.inval.b64 [%rd6];"""
    assert results(body, 32, 32).all()


@pytest.mark.parametrize("place", ["bar+4", "bar+8", "%rd0"])
def test_object_outside_shared_memory_faults(place: str) -> None:
    with pytest.raises(gpulab.MemoryFault):
        results(f"\tmbarrier.arrive.b64 %rd5, [{place}];", 32, 32)


def test_phase_waits_for_the_expected_bytes() -> None:
    expect = "\t@%p1 mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 3200;\n\tbar.sync 0;\n"
    arrive = "\tmbarrier.arrive.shared.b64 %rd5, [bar];\n\tbar.sync 0;\n"
    complete = "\tmbarrier.complete_tx.shared::cta.b64 [bar], {size};\n\tbar.sync 0;"
    done = query("test_wait.shared.b64 %p2, [bar], %rd5")
    assert not results(expect + arrive + done, 32, 32).any()
    assert not results(expect + arrive + complete.format(size=99) + done, 32, 32).any()
    assert results(expect + arrive + complete.format(size=100) + done, 32, 32).all()


def test_bytes_may_be_copied_before_they_are_expected() -> None:
    complete = "\t@%p1 mbarrier.complete_tx.shared::cta.b64 [bar], 64;\n\tbar.sync 0;\n"
    arrive = "\tmbarrier.arrive.expect_tx.shared.b64 %rd5, [bar], 2;\n\tbar.sync 0;\n"
    done = query("test_wait.shared.b64 %p2, [bar], %rd5")
    assert results(complete + arrive + done, 32, 32).all()
    assert not results(arrive + done, 32, 32).any()


def test_next_phase_expects_no_bytes() -> None:
    first = "\tmbarrier.arrive.expect_tx.shared.b64 %rd5, [bar], 16;\n\tbar.sync 0;\n"
    complete = "\tmbarrier.complete_tx.shared::cta.b64 [bar], 16;\n\tbar.sync 0;\n"
    arrive = "\tmbarrier.arrive.shared.b64 %rd5, [bar];\n\tbar.sync 0;\n"
    done = query("test_wait.shared.b64 %p2, [bar], %rd5")
    assert results(first + complete + arrive + done, 32, 32).all()


HEADER = "#include <cuda_awbarrier_primitives.h>\n"
RING = (
    HEADER
    + r"""
__global__ void ring(const int* in, int* out, int rounds) {   // warp 0 writes, warp 1 reads
    __shared__ __mbarrier_t full[2], empty[2];
    __shared__ int rows[2][32];
    if (threadIdx.x < 2) {
        __mbarrier_init(&full[threadIdx.x], 32);
        __mbarrier_init(&empty[threadIdx.x], 32);
    }
    __syncthreads();
    const int lane = threadIdx.x % 32;
    for (int n = 0; n < rounds; n++) {
        const int place = n % 2, turn = n / 2 % 2;
        if (threadIdx.x < 32) {
            while (!__mbarrier_test_wait_parity(&empty[place], turn ^ 1)) { }
            rows[place][lane] = in[n * 32 + lane];
            __mbarrier_arrive(&full[place]);
        } else {
            while (!__mbarrier_try_wait_parity(&full[place], turn, 100)) { }
            out[n * 32 + lane] = rows[place][31 - lane];
            __mbarrier_arrive(&empty[place]);
        }
    }
}
"""
)


@pytest.mark.parametrize("independent", [True, False])
def test_two_warps_exchange_rows(independent: bool) -> None:
    device = simulator()
    rows = np.arange(9 * 32, dtype=np.int32).reshape(9, 32) ** 2
    out = device.zeros(rows.shape, np.int32)
    device.compile(RING, independent_threads=independent)(1, 64, (device.asarray(rows), out, 9))
    np.testing.assert_array_equal(device.asnumpy(out), rows[:, ::-1])


def test_lanes_of_one_warp_wait_at_an_mbarrier() -> None:
    source = (
        HEADER
        + r"""
__global__ void half(int* out) {
    __shared__ __mbarrier_t bar;
    if (threadIdx.x == 0) __mbarrier_init(&bar, 16);
    __syncthreads();
    if (threadIdx.x % 2) {
        while (!__mbarrier_test_wait_parity(&bar, 0)) { }
        out[threadIdx.x] = out[threadIdx.x - 1];
    } else {
        out[threadIdx.x] = threadIdx.x + 1;
        __mbarrier_arrive(&bar);
    }
}
"""
    )
    device = simulator()
    out = device.zeros(32, np.int32)
    device.compile(source)(1, 32, (out,))
    np.testing.assert_array_equal(device.asnumpy(out), np.repeat(np.arange(1, 33, 2), 2))


def test_cuda_barrier_of_libcudacxx() -> None:
    source = r"""
#include <cuda/barrier>
__global__ void turn(int* a, int rounds) {
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    __shared__ int s[96];
    if (threadIdx.x == 0) init(&bar, 96);
    __syncthreads();
    int mine = a[threadIdx.x];
    for (int n = 0; n < rounds; n++) {
        s[threadIdx.x] = mine;
        bar.wait(bar.arrive());
        mine = s[(threadIdx.x + 1) % 96];
        bar.arrive_and_wait();
    }
    a[threadIdx.x] = mine;
}
"""
    device = simulator()
    initial = np.arange(96, dtype=np.int32)
    a = device.asarray(initial)
    device.compile(source)(1, 96, (a, 7))
    np.testing.assert_array_equal(device.asnumpy(a), np.roll(initial, -7))


def test_endless_wait_is_reported() -> None:
    source = (
        HEADER
        + r"""
__global__ void never(int* out) {
    __shared__ __mbarrier_t bar;
    if (threadIdx.x == 0) __mbarrier_init(&bar, 64);
    __syncthreads();
    const auto state = __mbarrier_arrive(&bar);
    while (!__mbarrier_test_wait(&bar, state)) { }
    out[threadIdx.x] = 1;
}
"""
    )
    device = simulator()
    with pytest.raises(gpulab.LaunchError):
        device.compile(source)(1, 32, (device.zeros(32, np.int32),))


SUMS = """#include <cuda/barrier>
__global__ void sums(int* a) {
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    __shared__ int s[128];
    int t = threadIdx.x, mine = a[t];
    if (t == 0) init(&bar, 128);
    __syncthreads();
    for (int n = 0; n < 4; n++) {
        s[t] = mine;
        bar.arrive_and_wait();
        for (int i = 0; i < 128; i++) mine += s[i] % 7;
        SECOND;
    }
    a[t] = mine;
}"""


@pytest.mark.parametrize(("second", "lines"), [("bar.arrive_and_wait()", []), ("", [9])])
def test_phase_of_all_warps_orders_accesses(second: str, lines: list[int]) -> None:
    device = simulator()
    kernel = device.compile(SUMS.replace("SECOND", second))
    findings = gpulab.sanitize(kernel, 1, 128, (device.zeros(128, np.int32),))
    assert [finding.line for finding in findings] == lines


def test_phase_of_some_warps_orders_their_accesses() -> None:
    device = simulator()
    args = device.zeros((9, 32), np.int32), device.zeros((9, 32), np.int32), 9
    assert gpulab.sanitize(device.compile(RING), 1, 64, args) == []
    late = RING.replace("__mbarrier_arrive(&full[place]);", "").replace(
        "rows[place][lane] = in", "__mbarrier_arrive(&full[place]);\n            rows[place][lane] = in"
    )
    (finding,) = gpulab.sanitize(device.compile(late), 1, 64, args)
    assert (finding.tool, finding.kind) == ("racecheck", "read_after_write")


@pytest.mark.parametrize(
    "instruction",
    [
        "mbarrier.arrive.shared.b64 _, [%0];",
        "mbarrier.expect_tx.relaxed.cta.shared.b64 [%0], 16;",
        "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%1], [%2], 16, [%0];",
    ],
)
def test_sanitizer_reports_an_object_far_outside_shared_memory(instruction: str) -> None:
    source = f"""
    __global__ void far_away(int* a)
    {{
        __shared__ __align__(16) int room[16];
        room[threadIdx.x % 16] = a[0];
        asm volatile("{instruction}" :: "r"(0x40000000), "r"(32), "r"(0) : "memory");
        a[0] = room[threadIdx.x % 16];
    }}"""
    device = simulator()
    findings = gpulab.sanitize(device.compile(source), 1, 1, (device.zeros(1, np.int32),))
    assert [finding.kind for finding in findings if finding.tool == "memcheck"] == ["out_of_bounds_atomic"]
