"""Tests of the compiler run it every time: the disk cache is switched off."""

from __future__ import annotations

import pytest

from gpulab.compiler import store


@pytest.fixture(autouse=True)
def no_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "kernel_cache", lambda: None)
