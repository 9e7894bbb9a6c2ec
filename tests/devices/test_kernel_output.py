"""What a kernel prints that is launched from Python."""

from __future__ import annotations

import pytest

import gpulab
from gpulab.devices import kernel_output

HELLO = r"""
__global__ void hello(int n)
{
    if (threadIdx.x < n) printf("hello %d of %d\n", threadIdx.x, blockIdx.x);
}"""


def test_launch_prints_in_the_order_of_blocks(capsys: pytest.CaptureFixture[str]) -> None:
    kernel = gpulab.device("sim").compile(HELLO)
    kernel(2, 32, (2,))
    text = "hello 0 of 0\nhello 1 of 0\nhello 0 of 1\nhello 1 of 1\n"
    assert capsys.readouterr().out == text
    assert kernel.printed == text
    kernel(1, 32, (0,))
    assert capsys.readouterr().out == ""


def test_output_before_a_fault_is_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    device = gpulab.device("sim")
    kernel = device.compile(r'__global__ void k(int* a) { printf("before\n"); a[threadIdx.x] = 1; }')
    with pytest.raises(gpulab.MemoryFault):
        kernel(1, 2, (device.zeros(1, "int32"),))
    assert capsys.readouterr().out == "before\nbefore\n"
    with pytest.raises(gpulab.GpulabError):
        kernel(1, 2, ())
    assert capsys.readouterr().out == ""


def test_lost_calls_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    kernel = gpulab.device("sim").compile(
        r'__global__ void k() { for (int i = 0; i < 1000; ++i) printf("x"); }'
    )
    kernel(1, 128, ())
    shown, _, lost = capsys.readouterr().out.partition("\n")
    assert f"{128_000 - len(shown):,} more calls" in lost


def test_notebook_shows_the_first_lines(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel_output, "most_lines", 3)
    kernel = gpulab.device("sim").compile(HELLO)
    kernel(1, 32, (32,))
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == [f"hello {number} of 0" for number in range(3)]
    assert "29 more lines" in lines[3]
    assert len(kernel.printed.splitlines()) == 32


@pytest.mark.parametrize("launch", ["sanitize", "counters", "benchmark"])
def test_launches_that_measure_print_nothing(launch: str, capsys: pytest.CaptureFixture[str]) -> None:
    kernel = gpulab.device("sim").compile(HELLO)
    getattr(gpulab, launch)(kernel, 1, 32, (2,))
    assert capsys.readouterr().out == ""
