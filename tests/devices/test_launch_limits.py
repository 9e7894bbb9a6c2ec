"""Validation of launches against the limits of the GPU."""

from __future__ import annotations

import numpy as np
import pytest

import gpulab
from gpulab.compiler.program import Resources
from gpulab.devices.launch_limits import check_bounds, check_launch, dim3
from gpulab.errors import LaunchError
from gpulab.gpus.catalogue import gpu

ONE = (1, 1, 1)
SMALL = Resources(registers=16)


@pytest.mark.parametrize(
    ("given", "dims"),
    [
        (5, (5, 1, 1)),
        ((5,), (5, 1, 1)),
        ([4, 2], (4, 2, 1)),
        ((1, 2, 3), (1, 2, 3)),
        (np.int64(7), (7, 1, 1)),
    ],
)
def test_dim3_accepts_one_to_three_integers(given, dims):
    assert dim3(given) == dims


@pytest.mark.parametrize("given", [0, -1, (1, 0), (), (1, 1, 1, 1), 2.0, "32", (1, "2"), None])
def test_dim3_refuses_other_values(given):
    with pytest.raises(LaunchError):
        dim3(given)


def test_launch_within_all_limits_is_accepted():
    check_launch(gpu("h200"), "k", SMALL, (2**31 - 1, 1, 1), (1024, 1, 1), 232448, arch=90)


@pytest.mark.parametrize(
    ("name", "resources", "grid", "block", "shared", "named"),
    [
        ("h200", SMALL, ONE, (32, 33, 1), 0, "1,056 threads.*H200.*1,024"),
        ("gtx280", SMALL, ONE, (32, 17, 1), 0, "544 threads.*GeForce GTX 280.*512"),
        ("h200", SMALL, ONE, (1, 1, 65), 0, "block of 1 x 1 x 65"),
        ("gtx280", SMALL, (1, 1, 2), ONE, 0, "grid of 1 x 1 x 2"),
        ("h200", SMALL, ONE, ONE, -1, "-1"),
        ("h200", Resources(shared_bytes=1024), ONE, ONE, 232448, "233,472 bytes .* 232,448"),
        ("h200", Resources(registers=80), ONE, (1024, 1, 1), 0, "81,920 registers"),
    ],
)
def test_launch_over_a_limit_is_refused_with_the_figures(name, resources, grid, block, shared, named):
    with pytest.raises(LaunchError, match=named):
        check_launch(gpu(name), "k", resources, grid, block, shared, arch=90)


def test_registers_for_another_architecture_are_not_checked():
    check_launch(gpu("gtx280"), "k", Resources(registers=100), ONE, (512, 1, 1), arch=90)


@pytest.mark.parametrize(
    ("attribute", "block", "named"),
    [
        ("__launch_bounds__(64)", 65, "65 threads; the __launch_bounds__ of the kernel allows 64"),
        ("__block_size__((8, 8, 1))", 64, "requires blocks of 8 x 8 x 1"),
    ],
)
def test_launch_against_the_declaration_of_a_kernel_is_refused(attribute, block, named):
    kernel = gpulab.device("sim:h200").compile(f"__global__ void {attribute} k() {{ }}")
    with pytest.raises(LaunchError, match=named):
        kernel(1, block, ())


def test_launch_within_the_declaration_of_a_kernel_is_accepted():
    check_bounds("k", {".maxntid": [16, 8, 1], ".minnctapersm": [2]}, (128, 1, 1))
    check_bounds("k", {".reqntid": [32, 4]}, (32, 4, 1))
