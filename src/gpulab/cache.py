"""A disk cache of compiled code, addressed by content and shared by several processes.

An entry is one file, named by the hash of everything on which its content depends. It is written under
another name and renamed, so that readers see a complete entry or none. A digest at its start detects entries
that a full disk or a crash has damaged. The least recently used entries are deleted first. Every failure of
the disk counts as a missing entry.

The environment variable GPULAB_CACHE names the folder (by default `gpulab/kernels` in XDG_CACHE_HOME or
~/.cache), or is `off`. GPULAB_CACHE_MB is the size limit in MiB, 256 by default.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path

__all__ = ["DiskCache", "fingerprint", "kernel_cache", "source_fingerprint"]

DEFAULT_LIMIT_MB = 256  # MiB
_DIGEST_BYTES = 32  # length of a SHA-256 digest
_TRIM_EVERY = 64  # writes of one process after which it checks the size of the folder again


def fingerprint(*parts: object) -> str:
    """Return a hash of some values, as the name of an entry."""
    digest = hashlib.sha256()
    for part in parts:
        text = b"bytes " + part if isinstance(part, bytes) else repr(part).encode()
        digest.update(len(text).to_bytes(8, "little") + text)
    return digest.hexdigest()


class DiskCache:
    """Byte strings in a folder, by name, with a limit of their total size in bytes."""

    def __init__(self, folder: Path, limit_bytes: int) -> None:
        self.folder, self.limit_bytes = folder, limit_bytes
        self._writes = 0

    def get(self, name: str) -> bytes | None:
        """Return the content of an entry, or None if there is none."""
        path = self.folder / name
        try:
            data = path.read_bytes()
            os.utime(path)  # the modification time is the time of the last use
        except OSError:
            return None

        content = data[_DIGEST_BYTES:]
        if hashlib.sha256(content).digest() != data[:_DIGEST_BYTES]:
            with contextlib.suppress(OSError):
                path.unlink()
            return None
        return content

    def put(self, name: str, content: bytes) -> None:
        """Write an entry, unless it is larger than a quarter of the limit."""
        if 4 * len(content) > self.limit_bytes:
            return

        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor, draft = tempfile.mkstemp(dir=self.folder, prefix="draft-")
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(hashlib.sha256(content).digest() + content)
                Path(draft).replace(self.folder / name)
            except OSError:
                Path(draft).unlink(missing_ok=True)
                return
        except OSError:
            return

        if self._writes % _TRIM_EVERY == 0:
            self.trim()
        self._writes += 1

    def trim(self) -> None:
        """Delete the least recently used entries until the total size is below the limit."""
        entries = []
        with contextlib.suppress(OSError):
            for path in self.folder.iterdir():
                with contextlib.suppress(OSError):  # another process may delete it meanwhile
                    status = path.stat()
                    entries.append((status.st_mtime, status.st_size, path))

        total = sum(size for _, size, _ in entries)
        for _, size, path in sorted(entries, key=lambda entry: entry[0]):
            if total <= self.limit_bytes:
                break
            with contextlib.suppress(OSError):
                path.unlink()
                total -= size


@cache
def kernel_cache() -> DiskCache | None:
    """Return the cache of compiled kernels, or None if it is switched off."""
    setting = os.environ.get("GPULAB_CACHE", "")
    if setting == "off":
        return None

    root = os.environ.get("XDG_CACHE_HOME")
    folder = (
        Path(setting) if setting else (Path(root) if root else Path.home() / ".cache") / "gpulab" / "kernels"
    )
    megabytes = os.environ.get("GPULAB_CACHE_MB", "")
    limit = int(megabytes) if megabytes.isdecimal() else DEFAULT_LIMIT_MB
    return DiskCache(folder, limit << 20)


def source_fingerprint(folders: Iterable[Path]) -> str:
    """Return a hash of the source files of packages, on which the code that they generate depends."""
    paths = sorted(path for folder in folders for path in folder.rglob("*") if path.suffix in (".py", ".ll"))
    return fingerprint(*(path.read_bytes() for path in paths))
