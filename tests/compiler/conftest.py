"""These tests watch the compiler at work, so nothing comes from the disk."""

from __future__ import annotations

import pytest

from gpulab.compiler import store


@pytest.fixture(autouse=True)
def no_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "kernel_cache", lambda: None)
