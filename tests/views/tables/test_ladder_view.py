"""`gpulab.ladder_table`: the session's kernels modelled on several GPUs."""

from __future__ import annotations

import pytest

import gpulab
from gpulab import session
from gpulab.errors import UsageError
from tests.kernel_configs import run_in_session

COPY = """%%cuda stencil.{variant} --block 32 8 {tile}
__global__ void block2D_{variant}(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{{
    int i = blockIdx.x * BLOCK_X + threadIdx.x + nx * (blockIdx.y * BLOCK_Y + threadIdx.y);
    for (int z = 0; z < nz; ++z)
        Anext[i + nx * ny * z] = A0[i + nx * ny * z];
}}"""


@pytest.fixture(autouse=True)
def session_of_two_kernels(empty_session: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile `naive`, and an `opt_4` whose grid has a z axis, which the GTX 280 does not allow."""
    monkeypatch.setenv("GPULAB_DEVICE", "sim")
    for variant, tile in (("naive", ""), ("opt_4", "--tile 1 1 8")):
        run_in_session(COPY.format(variant=variant, tile=tile))


def rows(text: str) -> dict[str, list[str]]:
    table = [line.split() for line in text.splitlines()]
    return {words[0]: words for words in table if words[1:2] == ["32x8x1"]}


def test_each_gpu_has_a_modelled_time() -> None:
    text = gpulab.ladder_table("stencil", gpus=("t10", "h200"), size=64).text
    naive = rows(text)["naive"]
    assert float(naive[2]) > float(naive[5]) > 0
    assert "64x64x64" in text
    assert "modelled, Tesla T10" in text
    assert "modelled, H200" in text


def test_refused_launch_has_its_reason_below_the_table() -> None:
    text = gpulab.ladder_table("stencil", gpus=("gtx280", "h200"), size=64).text
    assert rows(text)["opt_4"][2:5] == ["-", "-", "-"]
    assert float(rows(text)["opt_4"][5]) > 0
    assert text.splitlines()[-1].startswith("opt_4 on the GeForce GTX 280: ")


def test_empty_session_gives_a_line_of_text() -> None:
    session.clear()
    assert "table" not in gpulab.ladder_table("stencil").html


def test_unknown_gpu_raises() -> None:
    with pytest.raises(UsageError, match="gtx281"):
        gpulab.ladder_table("stencil", gpu="gtx281")


def test_gpus_is_an_alias_of_gpu() -> None:
    names = ("t10", "h200")
    assert gpulab.ladder_table(size=64, gpus=names).text == gpulab.ladder_table(size=64, gpu=names).text
