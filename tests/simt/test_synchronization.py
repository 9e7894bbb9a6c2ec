"""Synchronization: barriers in all forms, spin loops, and kernels that never end."""

from __future__ import annotations

import numpy as np
import pytest

import gpulab
from gpulab.errors import LaunchError
from tests.simt.programs import simulator

SIGNATURE = 'extern "C" __global__ void k(int* out)'


def run(body: str, threads: int = 64, signature: str = SIGNATURE) -> np.ndarray:
    """Launch one block of a kernel with this body and return its output."""
    device = simulator()
    out = device.zeros(threads, np.int32)
    device.compile(f"{signature} {{ {body} }}")(1, threads, (out,))
    return device.asnumpy(out)


def finding(body: str, threads: int = 64) -> gpulab.Finding:
    """Return the only finding of a kernel that faults."""
    with pytest.raises(LaunchError) as error:
        run(body, threads)
    (found,) = error.value.findings
    return found


class TestBarriers:
    @pytest.mark.parametrize("remaining", [64, 80], ids=["whole warps", "part of a warp"])
    def test_thread_that_has_exited_before_a_barrier_is_reported(self, remaining: int) -> None:
        found = finding(
            f"if (threadIdx.x >= {remaining}) return; __syncthreads(); out[threadIdx.x] = 7;", 128
        )
        assert (found.tool, found.kind) == ("synccheck", "exited_threads")
        assert found.thread == (remaining, 0, 0)

    def test_thread_may_exit_after_the_last_barrier(self) -> None:
        out = run("__syncthreads(); if (threadIdx.x >= 80) return; out[threadIdx.x] = 7;", 128)
        np.testing.assert_array_equal(out, np.where(np.arange(128) < 80, 7, 0))

    def test_barrier_in_a_divergent_branch_is_reported(self) -> None:
        found = finding("\nif (threadIdx.x < 16)\n__syncthreads();\nout[threadIdx.x] = 1;")
        assert (found.tool, found.kind, found.line) == ("synccheck", "divergent_barrier", 3)
        assert (found.block, found.thread) == ((0, 0, 0), (16, 0, 0))

    def test_barrier_in_a_divergent_loop_is_reported(self) -> None:
        found = finding(
            "for (int i = 0; i < threadIdx.x % 4; ++i) { out[threadIdx.x] += i; __syncthreads(); }"
            "out[threadIdx.x] += 5; __syncthreads(); out[threadIdx.x] -= 5;"
        )
        assert found.kind == "divergent_barrier"

    def test_named_barrier_waits_for_its_thread_count(self) -> None:
        body = """
            __shared__ int box[32];
            int lane = threadIdx.x % 32;
            if (threadIdx.x < 32) { box[lane] = lane * lane; asm volatile("bar.arrive 1, 64;" ::: "memory"); }
            else { asm volatile("bar.sync 1, 64;" ::: "memory"); out[threadIdx.x] = box[31 - lane]; }"""
        np.testing.assert_array_equal(run(body)[32:], np.arange(32)[::-1] ** 2)

    def test_warp_waits_at_syncthreads_while_another_passes_other_barriers(self) -> None:
        body = """
            __shared__ int box[32];
            int lane = threadIdx.x % 32;
            if (threadIdx.x >= 32) {
                for (int round = 0; round < 3; round++) asm volatile("bar.sync 1, 32;" ::: "memory");
                box[lane] = lane * lane;
            }
            __syncthreads();
            out[threadIdx.x] = box[31 - lane];"""
        np.testing.assert_array_equal(run(body), np.tile(np.arange(32)[::-1] ** 2, 2))

    def test_warps_at_different_barriers_deadlock(self) -> None:
        body = """
            if (threadIdx.x < 32) asm volatile("bar.sync 1, 64;"); else asm volatile("bar.sync 2, 64;");
            out[threadIdx.x] = 1;"""
        assert finding(body).kind == "barrier_deadlock"

    @pytest.mark.parametrize(("intrinsic", "expected"), [("count", 20), ("or", 1), ("and", 0)])
    def test_syncthreads_with_a_vote(self, intrinsic: str, expected: int) -> None:
        out = run(
            f"out[threadIdx.x] = __syncthreads_{intrinsic}(threadIdx.x % 5 == 1) != 0 ? "
            f"__syncthreads_{intrinsic}(threadIdx.x % 5 == 1) : 0;",
            100,
        )
        np.testing.assert_array_equal(out, expected)

    def test_vote_at_a_named_barrier_counts_participating_threads(self) -> None:
        body = """
            unsigned n = 0;
            if (threadIdx.x >= 32)
                asm volatile("{ .reg .pred p; setp.lt.u32 p, %1, 45; bar.red.popc.u32 %0, 3, 64, p; }"
                             : "=r"(n) : "r"(threadIdx.x));
            out[threadIdx.x] = n;"""
        np.testing.assert_array_equal(run(body, 96), np.where(np.arange(96) < 32, 0, 13))


class TestSpinning:
    def test_lanes_of_a_warp_take_turns(self) -> None:
        out = run("""
            __shared__ volatile int turn;
            if (threadIdx.x == 0) turn = 0;
            __syncthreads();
            while (turn != threadIdx.x) { }
            out[threadIdx.x] = 2 * turn;
            turn = turn + 1;""")
        np.testing.assert_array_equal(out, 2 * np.arange(64))

    def test_lanes_of_a_warp_contend_for_a_lock(self) -> None:
        out = run("""
            __shared__ int lock, count;
            if (threadIdx.x == 0) lock = count = 0;
            __syncthreads();
            bool done = false;
            while (!done)
                if (atomicCAS(&lock, 0, 1) == 0) {
                    ++count; __threadfence_block(); atomicExch(&lock, 0); done = true; }
            __syncthreads();
            out[threadIdx.x] = count;""")
        np.testing.assert_array_equal(out, 64)

    def test_warp_waits_for_the_flag_of_another_warp(self) -> None:
        out = run("""
            __shared__ volatile int flag;
            if (threadIdx.x == 0) flag = 0;
            __syncthreads();
            if (threadIdx.x < 32) { while (flag == 0) { } out[threadIdx.x] = flag; } else flag = 5;""")
        np.testing.assert_array_equal(out[:32], 5)

    def test_lanes_that_wait_for_their_own_warp_deadlock_before_volta(self) -> None:
        device = simulator()
        source = (
            SIGNATURE
            + """ {
            __shared__ volatile int turn;
            if (threadIdx.x == 0) turn = 0;
            __syncthreads();
            while (turn != threadIdx.x) { }
            out[threadIdx.x] = turn;
            turn = turn + 1; }"""
        )
        kernel = device.compile(source, independent_threads=False)
        with pytest.raises(LaunchError) as error:
            kernel(1, 32, (device.zeros(32, np.int32),))
        (found,) = error.value.findings
        assert (found.tool, found.kind, found.line) == ("synccheck", "deadlock", 5)


class TestEndlessKernel:
    @pytest.mark.parametrize(
        "body",
        [
            "volatile int* v = out; while (true) v[0] = v[0] + 1;",
            "volatile int* v = out; while (v[threadIdx.x] >= 0) v[threadIdx.x] = 1;",
            "volatile int* v = out; if (threadIdx.x == 3) while (true) v[3] = 1;",
            "while (true) __syncthreads();",
        ],
        ids=["all lanes", "each lane", "one lane", "through barriers"],
    )
    def test_is_stopped_and_reported_with_its_line(self, body: str) -> None:
        found = finding(body)
        assert (found.tool, found.kind, found.line) == ("synccheck", "never_ends", 1)

    def test_keeps_the_device_usable(self) -> None:
        finding("while (true) __syncthreads();")
        np.testing.assert_array_equal(run("out[threadIdx.x] = threadIdx.x;"), np.arange(64))


def test_vote_in_a_loop_waits_for_lanes_that_are_still_at_a_lock() -> None:
    body = """
        __shared__ int lock;
        int sum = 0;
        lock = 0;
        __syncthreads();
        #pragma unroll 1
        for (int round = 0; round < out[0] + 3; ++round) {
            if (threadIdx.x < 64) sum += __popc(__ballot_sync(0xffffffff, threadIdx.x & 16));
            while (atomicCAS(&lock, 0, 1) != 0) ;
            __threadfence();
            atomicExch(&lock, 0);
        }
        __syncthreads();
        out[threadIdx.x] = sum;
    """
    np.testing.assert_array_equal(run(body), 3 * 16)
