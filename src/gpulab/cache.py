"""A cache on disk by content: several processes may share it, a size limit holds, nothing depends on it.

An entry is one file, named by the hash of everything that its content follows from. It is written
under another name and renamed, so that a reader sees all of it or none; a digest in front of it
refuses what a full disk or a crash cut short. The entries that were used longest ago go first.

GPULAB_CACHE names the folder (default: `gpulab/kernels` in XDG_CACHE_HOME or ~/.cache), or is `off`;
GPULAB_CACHE_MB is the limit, 256 without it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path

__all__ = ["DiskCache", "fingerprint", "kernel_cache"]

DEFAULT_LIMIT_MB = 256
_DIGEST_BYTES = 32
_TRIM_EVERY = 64  # writes of one process between two looks at the folder's size


def fingerprint(*parts: object) -> str:
    """The hash of some values' texts, for a name; different values give different names."""
    digest = hashlib.sha256()
    for part in parts:
        text = b"bytes " + part if isinstance(part, bytes) else repr(part).encode()
        digest.update(len(text).to_bytes(8, "little") + text)
    return digest.hexdigest()


class DiskCache:
    """Byte strings in a folder, by name. Every failure of the disk reads as "not there"."""

    def __init__(self, folder: Path, limit_bytes: int) -> None:
        self.folder, self.limit_bytes = folder, limit_bytes
        self._writes = 0

    def get(self, name: str) -> bytes | None:
        """What was kept under this name, or None."""
        path = self.folder / name
        try:
            data = path.read_bytes()
            os.utime(path)  # used now: trimmed later
        except OSError:
            return None
        content = data[_DIGEST_BYTES:]
        if hashlib.sha256(content).digest() != data[:_DIGEST_BYTES]:
            with contextlib.suppress(OSError):
                path.unlink()
            return None
        return content

    def put(self, name: str, content: bytes) -> None:
        """Keep bytes under a name. Entries larger than a quarter of the limit are not kept."""
        if 4 * len(content) > self.limit_bytes:
            return
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle, draft = tempfile.mkstemp(dir=self.folder, prefix="draft-")
            try:
                with os.fdopen(handle, "wb") as file:
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
        """Delete what was used longest ago until the rest is below the limit."""
        entries = []
        with contextlib.suppress(OSError):
            for path in self.folder.iterdir():
                with contextlib.suppress(OSError):  # another process may delete it meanwhile
                    found = path.stat()
                    entries.append((found.st_mtime, found.st_size, path))
        left = sum(size for _, size, _ in entries)
        for _, size, path in sorted(entries, key=lambda entry: entry[0]):
            if left <= self.limit_bytes:
                break
            with contextlib.suppress(OSError):
                path.unlink()
                left -= size


@cache
def kernel_cache() -> DiskCache | None:
    """The cache of compiled kernels; None where it is switched off."""
    named = os.environ.get("GPULAB_CACHE", "")
    if named == "off":
        return None
    root = os.environ.get("XDG_CACHE_HOME")
    folder = Path(named) if named else (Path(root) if root else Path.home() / ".cache") / "gpulab" / "kernels"
    megabytes = os.environ.get("GPULAB_CACHE_MB", "")
    limit = int(megabytes) if megabytes.isdecimal() else DEFAULT_LIMIT_MB
    return DiskCache(folder, limit << 20)


def sources_of(folders: Iterable[Path]) -> str:
    """The hash of a package's own files: what they make is stale when they change."""
    paths = sorted(path for folder in folders for path in folder.rglob("*") if path.suffix in (".py", ".ll"))
    return fingerprint(*(path.read_bytes() for path in paths))
