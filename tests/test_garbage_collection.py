"""Pauses of Python's garbage collector."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from gpulab.garbage_collection import collection_paused


@pytest.fixture(autouse=True)
def _collector_as_before() -> Iterator[None]:
    was_enabled = gc.isenabled()
    yield
    (gc.enable if was_enabled else gc.disable)()


def test_collector_is_off_in_the_block_only() -> None:
    gc.enable()
    with collection_paused():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_collector_that_was_off_stays_off() -> None:
    gc.disable()
    with collection_paused():
        pass
    assert not gc.isenabled()


def test_inner_pause_does_not_end_the_outer_one() -> None:
    gc.enable()
    with collection_paused():
        with collection_paused():
            pass
        assert not gc.isenabled()


def test_exception_ends_the_pause() -> None:
    gc.enable()
    with pytest.raises(KeyError), collection_paused():
        raise KeyError
    assert gc.isenabled()
