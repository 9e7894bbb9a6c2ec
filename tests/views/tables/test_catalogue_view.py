"""`gpulab.catalogue_table`: figures, sources and bars."""

from __future__ import annotations

import re

import pytest

import gpulab
from gpulab.gpus.catalogue import gpu, names


@pytest.mark.parametrize("name", names())
def test_every_gpu_has_a_row_with_its_peaks(name):
    spec = gpu(name)
    (line,) = [
        line for line in gpulab.catalogue_table().text.splitlines() if line.startswith(f"{spec.name} ")
    ]
    assert f"{spec.dram_gb_s:,.0f}" in line
    assert f"{spec.boost_clock_mhz:,.0f}" in line
    assert f"{spec.peak_fp32_gflops:,.0f}" in line


def test_every_figure_has_its_source_in_a_tooltip():
    numbers = re.findall(r'<td class="gp-n[^>]*>', gpulab.catalogue_table().html)
    assert len(numbers) == 8 * len(names())
    assert all(re.search(r'title="[^"]{10,}"', cell) for cell in numbers)


def test_largest_figure_has_a_full_bar():
    parts = [float(part) for part in re.findall(r"--gp-part:([\d.]+)%", gpulab.catalogue_table().html)]
    assert len(parts) == 2 * len(names())
    assert max(parts[::2]) == max(parts[1::2]) == 100


@pytest.mark.parametrize("keys", ["h200", ("h200",)])
def test_table_can_be_limited_to_some_gpus(keys):
    assert len(gpulab.catalogue_table(keys).text.splitlines()) == 4
