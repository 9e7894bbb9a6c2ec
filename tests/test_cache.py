"""The disk cache: entries are found again, and failures of the disk count as missing entries."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gpulab
from gpulab import cache
from gpulab.cache import DiskCache, fingerprint, source_fingerprint
from gpulab.compiler import nvrtc
from gpulab.simt.codegen import jit


@pytest.fixture
def store(tmp_path: Path) -> DiskCache:
    return DiskCache(tmp_path / "kernels", 1 << 20)


def test_put_entry_is_returned_by_get(store: DiskCache) -> None:
    assert store.get("a") is None
    store.put("a", b"content")
    assert store.get("a") == b"content"


def test_fingerprint_differs_for_different_values() -> None:
    names = [fingerprint(*parts) for parts in (("ab", "c"), ("a", "bc"), ("abc",), (1,), ("1",), (b"1",), ())]
    assert len(set(names)) == len(names)


SIMULATOR = Path(cache.__file__).parent / "simt"


@pytest.mark.parametrize(
    "file", ["__init__.py", "runtime/runtime.ll", "instrument/counters/counters.ll", "codegen/ir.py"]
)
def test_edited_source_file_at_any_depth_changes_the_hash_of_its_package(tmp_path: Path, file: str) -> None:
    package = tmp_path / "simt"
    for name in ("__init__.py", "runtime/runtime.ll", "instrument/counters/counters.ll", "codegen/ir.py"):
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(SIMULATOR / name, package / name)

    before = source_fingerprint([package])
    assert source_fingerprint([package]) == before
    with (package / file).open("a", encoding="utf-8") as source:
        source.write("\n; edited\n")
    assert source_fingerprint([package]) != before


def test_compiled_file_does_not_change_the_hash_of_a_package(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text("x = 1\n")
    before = source_fingerprint([tmp_path])
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "module.pyc").write_bytes(b"code")
    assert source_fingerprint([tmp_path]) == before


@pytest.mark.parametrize("damage", [b"", b"short", b"\0" * 200])
def test_damaged_entry_counts_as_missing_and_is_removed(store: DiskCache, damage: bytes) -> None:
    store.put("a", b"content" * 20)
    (store.folder / "a").write_bytes(damage)
    assert store.get("a") is None
    assert not (store.folder / "a").exists()


def test_trim_deletes_the_least_recently_used_entries(tmp_path: Path) -> None:
    store = DiskCache(tmp_path, 10_000)
    for number in range(8):
        store.put(str(number), bytes(2000))
        (tmp_path / str(number)).touch()
        os.utime(tmp_path / str(number), (number, number))
    store.get("0")
    store.trim()
    assert {path.name for path in tmp_path.iterdir()} == {"0", "5", "6", "7"}


def test_entry_larger_than_a_quarter_of_the_limit_is_not_written(store: DiskCache) -> None:
    store.put("a", bytes(store.limit_bytes))
    assert store.get("a") is None


def test_read_only_folder_raises_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store = DiskCache(tmp_path / "file" / "below", 1 << 20)
    store.put("a", b"content")
    assert store.get("a") is None


def test_concurrent_writers_leave_a_complete_entry(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from gpulab.cache import DiskCache\n"
        f"store = DiskCache(Path({str(tmp_path)!r}), 1 << 24)\n"
        "for i in range(200):\n"
        "    store.put('a', sys.argv[1].encode() * 10000)\n"
        "    assert store.get('a') in (b'x' * 10000, b'y' * 10000)\n"
    )
    writers = [subprocess.Popen([sys.executable, "-c", code, letter]) for letter in "xy"]
    assert [writer.wait() for writer in writers] == [0, 0]


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GPULAB_CACHE", str(tmp_path))
    cache.kernel_cache.cache_clear()
    yield tmp_path
    cache.kernel_cache.cache_clear()


SOURCE = "__global__ void k(float* a) { a[threadIdx.x] = 3 * threadIdx.x; }"


def run() -> None:
    device = gpulab.device("sim")
    a = device.zeros(32)
    device.compile(SOURCE)(1, 32, (a,))
    np.testing.assert_array_equal(device.asnumpy(a), 3 * np.arange(32))


def test_second_compilation_of_a_kernel_uses_the_cache(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run()
    kinds = [path.name.split("-")[0] for path in fresh.iterdir()]
    shared = ("operations", "unit")  # stored if they are new to this process
    assert sorted(kind for kind in kinds if kind not in shared) == ["linkable", "program"]

    def fail(*_: object, **__: object) -> None:
        raise AssertionError("compiled again")

    monkeypatch.setattr(nvrtc, "compile_text", fail)
    monkeypatch.setattr(jit, "compile_text", fail)
    monkeypatch.setattr(jit, "compile_linkable", fail)
    run()


def test_cache_can_be_switched_off(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPULAB_CACHE", "off")
    cache.kernel_cache.cache_clear()
    run()
    assert list(fresh.iterdir()) == []
