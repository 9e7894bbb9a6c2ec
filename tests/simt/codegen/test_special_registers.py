"""Special registers."""

from __future__ import annotations

import numpy as np
import pytest

import gpulab
from tests.simt.ptx_harness import entry, launch, simulator

STORE = "\tmul.wide.u32 %rd9, %r0, 4;\n\tadd.s64 %rd9, %rd0, %rd9;\n\tst.global.u32 [%rd9], %r5;"
LANE = np.arange(64) % 32


def read(text: str, threads: int = 64, **options: int) -> np.ndarray:
    shared = "\t.shared .align 4 .b8 own[28];\n"
    arrays = np.zeros(threads, np.uint32)
    (values,) = launch(entry(1, f"\t{text}\n{STORE}", shared), 1, threads, arrays, **options)
    return values


EXPECTED = {
    "tid.x": np.arange(64),
    "tid.y": 0,
    "ntid.x": 64,
    "ntid.z": 1,
    "ctaid.x": 0,
    "nctaid.x": 1,
    "clusterid.x": 0,
    "nclusterid.x": 1,
    "cluster_ctaid.x": 0,
    "cluster_nctaid.x": 1,
    "cluster_ctarank": 0,
    "cluster_nctarank": 1,
    "laneid": LANE,
    "warpid": np.arange(64) // 32,
    "nwarpid": 2,
    "smid": 0,
    "nsmid": 1,
    "gridid": 0,
    "lanemask_eq": 1 << LANE,
    "lanemask_lt": (1 << LANE) - 1,
    "lanemask_le": (2 << LANE) - 1,
    "lanemask_gt": 0xFFFFFFFF & ~((2 << LANE) - 1),
    "lanemask_ge": 0xFFFFFFFF & ~((1 << LANE) - 1),
    "total_smem_size": 28 + 1000,
    "dynamic_smem_size": 1000,
}


@pytest.mark.parametrize("name", EXPECTED)
def test_value_of_a_register(name: str) -> None:
    values = read(f"mov.u32 %r5, %{name};", shared_mem=1000)
    np.testing.assert_array_equal(values, np.broadcast_to(EXPECTED[name], 64))


def test_register_as_an_operand() -> None:
    np.testing.assert_array_equal(read("mad.lo.u32 %r5, %tid.x, %ntid.x, WARP_SZ;"), np.arange(64) * 64 + 32)
    np.testing.assert_array_equal(read("cvt.u32.u16 %r5, %tid.x;"), np.arange(64))
    np.testing.assert_array_equal(read("mov.u16 %h1, %laneid;\n\tcvt.u32.u16 %r5, %h1;"), LANE)


@pytest.mark.parametrize("wide", ["clock64", "globaltimer"])
def test_clocks_do_not_decrease(wide: str) -> None:
    text = f"mov.u64 %rd5, %{wide};\n\tmov.u64 %rd6, %{wide};\n\tset.ge.u32.u64 %r5, %rd6, %rd5;"
    assert read(text).all()


@pytest.mark.parametrize("names", [("clock64", "clock_hi"), ("globaltimer", "globaltimer_hi")])
def test_upper_half_of_a_clock(names: tuple[str, str]) -> None:
    wide, high = names
    text = f"""mov.u32 %r6, %{high};\n\tmov.u64 %rd5, %{wide};\n\tshr.u64 %rd5, %rd5, 32;
\tcvt.u32.u64 %r5, %rd5;\n\tsub.u32 %r5, %r5, %r6;"""
    assert (read(text) <= 1).all()


@pytest.mark.parametrize("name", ["envreg3", "pm0"])
def test_unsupported_registers_are_rejected(name: str) -> None:
    with pytest.raises(gpulab.UnsupportedInstruction) as error:
        read(f"mov.u32 %r5, %{name};")
    assert error.value.instruction == f"%{name}"


CLUSTER = """#include <cooperative_groups.h>
__global__ void DIMS k(int* out) {
    __shared__ int s[64];
    auto cluster = cooperative_groups::this_cluster();
    s[threadIdx.x] = threadIdx.x;
    cluster.sync();
    int blocks = 100 * cluster.num_blocks() + cluster.block_rank();
    out[blockIdx.x * 64 + threadIdx.x] = s[63 - threadIdx.x] + blocks;
}"""


@pytest.mark.parametrize("dims", ["", "__cluster_dims__(1)"])
def test_block_is_a_cluster_of_its_own(dims: str) -> None:
    device = simulator()
    kernel = device.compile(CLUSTER.replace("DIMS", dims))
    out = device.zeros(128, np.int32)
    assert not gpulab.sanitize(kernel, 2, 64, (out,))
    np.testing.assert_array_equal(device.asnumpy(out), np.tile(163 - np.arange(64), 2))


def test_clusters_of_several_blocks_are_rejected() -> None:
    with pytest.raises(gpulab.UnsupportedInstruction, match="thread block clusters") as error:
        simulator().compile(CLUSTER.replace("DIMS", "__cluster_dims__(2, 1, 1)"))
    assert error.value.instruction == "__cluster_dims__"


def test_group_of_an_unknown_type_synchronizes() -> None:
    # The type of the nested tile is known at run time only, so that the code handles clusters, too.
    device = simulator()
    kernel = device.compile("""#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void k(int* out, const int* x) {
    __shared__ int s[64];
    auto tile = cg::tiled_partition(cg::tiled_partition(cg::this_thread_block(), 32), 16);
    int* own = s + threadIdx.x / 16 * 16;
    own[tile.thread_rank()] = x[threadIdx.x];
    tile.sync();
    out[threadIdx.x] = own[15 - tile.thread_rank()];
}""")
    out, x = device.zeros(64, np.int32), device.asarray(np.arange(64, dtype=np.int32))
    assert not gpulab.sanitize(kernel, 1, 64, (out, x))
    np.testing.assert_array_equal(device.asnumpy(out).reshape(4, 16), np.arange(64).reshape(4, 16)[:, ::-1])
