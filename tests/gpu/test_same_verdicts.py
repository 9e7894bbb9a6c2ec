"""Verdicts on the kernel corpus, compared between a GPU and the simulator."""

from __future__ import annotations

import pytest

import gpulab
from gpulab.devices.base import Device
from gpulab.errors import CompileError
from gpulab.verification.check import check_cell
from gpulab.verification.verify import verify
from tests.kernels.corpus import CorpusKernel, load

CORPUS = [kernel for kernel in load() if not kernel.file.startswith("programs/")]
RIGHT = [kernel for kernel in CORPUS if kernel.verdict == "right"]


@pytest.mark.parametrize("kernel", CORPUS, ids=lambda k: k.id)
def test_gpu_and_simulator_give_the_same_verdict(kernel: CorpusKernel, gpu: Device) -> None:
    def verdict(device: Device) -> bool | None:
        try:
            return check_cell(kernel.cell, device).correct
        except CompileError:
            return None

    assert verdict(gpu) is verdict(gpulab.device("sim"))


@pytest.mark.parametrize("kernel", RIGHT, ids=lambda k: k.id)
def test_correct_kernel_is_correct_on_the_gpu(kernel: CorpusKernel, gpu: Device) -> None:
    result = check_cell(kernel.cell, gpu)
    assert result.kernel is not None
    verdict = verify(result.kernel, kernel.cell.config)
    assert verdict.correct, verdict.reasons
