"""The measured times that the labs show: the file agrees with the kernels of the labs and with the model."""

from __future__ import annotations

import pytest

from benchmarks.measurements import Configuration, key, modelled_ms, tables
from gpulab.devices import open_device
from gpulab.errors import UsageError
from gpulab.problems.measurements import measured_kernels
from gpulab.verification.verify import verify

TABLES = ("steps", "mystery", "mystery_solved", "ablation")
ABLATION = [configuration for configuration in tables()["ablation"] if configuration.register_cap]


def test_table_that_does_not_exist_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match=r"stencil\.steps"):
        measured_kernels("stencil.nothing")


@pytest.mark.parametrize("name", TABLES)
def test_file_has_every_configuration_once(name: str) -> None:
    found = [key(row) for row in measured_kernels(f"stencil.{name}").kernels]
    assert found == [configuration.key for configuration in tables()[name]]
    assert len(set(found)) == len(found)


def test_waves_follow_from_registers() -> None:
    table = measured_kernels("stencil.mystery")
    few, many = table.kernels
    assert (few.registers, table.occupancy(few).blocks_per_sm) == (31, 8)
    assert (many.registers, table.occupancy(many).blocks_per_sm) == (40, 6)
    assert table.waves(few) < 1 < table.waves(many)
    assert table.waves(many) == many.blocks / (132 * 6)


@pytest.mark.weekly
@pytest.mark.parametrize("name", ["steps", "mystery_solved"])
def test_file_agrees_with_the_kernels_and_the_model(name: str) -> None:
    device, table = open_device("sim:h200"), measured_kernels(f"stencil.{name}")
    for configuration, row in zip(tables()[name], table.kernels, strict=True):
        resources = configuration.compile(device).resources
        assert (resources.registers, resources.shared_bytes) == (row.registers, row.shared_bytes)
        assert row.modelled_ms == pytest.approx(modelled_ms(configuration, device), rel=1e-3)


@pytest.mark.weekly
@pytest.mark.parametrize(
    "configuration", ABLATION, ids=lambda c: f"{c.name}-{c.cell.config.tile[2]}-{c.hoisted}"
)
def test_kernel_of_the_ablation_is_right(configuration: Configuration) -> None:
    device = open_device("sim:h200")
    config = configuration.cell.config
    assert verify(configuration.compile(device), config).correct
