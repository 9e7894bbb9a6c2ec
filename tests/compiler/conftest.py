"""A compiler without the disk cache, for tests that observe compilations."""

from __future__ import annotations

import pytest

from gpulab.compiler import store


@pytest.fixture
def no_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "kernel_cache", lambda: None)
