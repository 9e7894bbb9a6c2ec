"""`gpulab.ladder_table`: the session's kernels modelled on several GPUs."""

from __future__ import annotations

import pytest

import gpulab
from gpulab import session
from gpulab.errors import UsageError
from gpulab.profiling.benchmark import Benchmark
from gpulab.profiling.speedup import VariantTiming
from gpulab.provenance import Provenance
from tests.kernel_configs import config, run_in_session

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


GPUS = {"Tesla T10": "t10", "H200": "h200", "GeForce GTX 280": "gtx280"}


def rows(text: str) -> dict[tuple[str, str], dict[str, str]]:
    """Return the cells of a table by GPU and variant, then by header."""
    header, rule, *lines = text.splitlines()
    widths = [len(dashes) + 2 for dashes in rule.split("  ")]
    starts = [sum(widths[:n]) for n in range(len(widths))]

    def cells(line: str) -> list[str]:
        return [line[start : start + width].strip() for start, width in zip(starts, widths, strict=True)]

    names = cells(header)
    table = [dict(zip(names, cells(line), strict=True)) for line in lines if line.startswith(tuple(GPUS))]
    return {(GPUS[row["GPU"]], row["variant"]): row for row in table}


def test_each_gpu_has_a_modelled_time() -> None:
    text = gpulab.ladder_table("stencil", gpus=("t10", "h200"), size=64).text
    old, new = (float(rows(text)[gpu, "naive"]["modelled (ms)"]) for gpu in ("t10", "h200"))
    assert old > new > 0
    assert "64x64x64" in text
    assert "modelled, Tesla T10" in text
    assert "modelled, H200" in text


def test_refused_launch_has_its_reason_below_the_table() -> None:
    text = gpulab.ladder_table("stencil", gpus=("gtx280", "h200"), size=64).text
    refused = rows(text)["gtx280", "opt_4"]
    assert {refused[name] for name in ("modelled (ms)", "speed-up", "bound by", "registers")} == {"-"}
    assert float(rows(text)["h200", "opt_4"]["modelled (ms)"]) > 0
    assert text.splitlines()[-1].startswith("opt_4 on the GeForce GTX 280: ")


def test_baseline_stands_in_for_the_naive_kernel_at_its_size() -> None:
    session.clear()
    run_in_session(COPY.format(variant="opt_1", tile=""))
    text = gpulab.ladder_table("stencil", gpus="h200").text
    baseline = rows(text)["h200", "naive (baseline)"]
    assert (baseline["speed-up"], baseline["registers"], baseline["waves"]) == ("1.00", "48", "1.55")
    assert "ships with gpulab" in text
    assert "baseline" not in gpulab.ladder_table("stencil", gpus="h200", size=64).text


def test_row_has_registers_resident_blocks_waves_and_the_compiler() -> None:
    text = gpulab.ladder_table("stencil", gpus="h200", size=512).text
    naive = rows(text)["h200", "naive"]
    registers = gpulab.kernel("stencil.naive").resources.registers
    assert int(naive["registers"]) == registers <= 32
    assert (naive["warps/SM"], naive["blocks/SM"], naive["waves"]) == ("64", "8", "0.97")
    assert "Compiler: NVRTC 13." in text


def test_measured_time_stands_next_to_the_modelled_one(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = gpulab.kernel("stencil.naive")
    timing = Benchmark.from_samples([1.0], Provenance("measured", "NVIDIA H200"))
    timed = VariantTiming(config("stencil.naive"), (64, 64, 64), timing)
    measured = {"naive": (kernel.device.spec, timed)}
    monkeypatch.setattr("gpulab.profiling.version_times.measured_versions", lambda *_: measured)
    table = rows(gpulab.ladder_table("stencil", gpus=("t10", "h200"), size=64).text)
    here = table["h200", "naive"]
    assert here["measured (ms)"] == "1.00"
    assert here["error"] == f"{100 * (float(here['modelled (ms)']) - 1):+.0f} %"
    assert {table["t10", "naive"][name] for name in ("measured (ms)", "error")} == {"-"}

    alone = rows(gpulab.ladder_table("stencil", gpus="t10", size=64).text)["h200", "naive"]
    assert (alone["modelled (ms)"], alone["measured (ms)"]) == ("-", "1.00")


def test_empty_session_gives_a_line_of_text() -> None:
    session.clear()
    assert "table" not in gpulab.ladder_table("stencil").html


def test_incorrect_kernel_is_left_out_and_named() -> None:
    session.mark_incorrect("stencil.naive")
    text = gpulab.ladder_table("stencil", gpus="h200", size=64).text
    assert ("h200", "opt_4") in rows(text)
    assert ("h200", "naive") not in rows(text)
    assert text.splitlines()[-1] == "Left out, because not correct yet: naive."
    session.mark_incorrect("stencil.opt_4")
    assert gpulab.ladder_table("stencil", gpus="h200", size=64).text.endswith("yet: naive, opt_4.")
    run_in_session(COPY.format(variant="naive", tile=""))
    assert ("h200", "naive") in rows(gpulab.ladder_table("stencil", gpus="h200", size=64).text)


def test_unknown_gpu_raises() -> None:
    with pytest.raises(UsageError, match="gtx281"):
        gpulab.ladder_table("stencil", gpu="gtx281")


def test_gpus_is_an_alias_of_gpu() -> None:
    names = ("t10", "h200")
    assert gpulab.ladder_table(size=64, gpus=names).text == gpulab.ladder_table(size=64, gpu=names).text
