"""Programs on disk: the same text, options and compiler give the same `Program` without compiling."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from gpulab.cache import fingerprint, kernel_cache, sources_of
from gpulab.compiler.program import Parameter, Program, Resources

__all__ = ["keep", "kept", "key_of"]


@cache
def _compiler() -> tuple[str, ...]:
    """What a program depends on besides its text: NVRTC's version and this room's own files."""
    versions = []
    for package in ("nvidia-cuda-nvrtc", "cuda-bindings"):
        try:
            versions.append(version(package))
        except PackageNotFoundError:
            versions.append("")
    return (*versions, sources_of([Path(__file__).parent]))


def key_of(source: str, arch: int, defines: Mapping[str, object] | None, options: Sequence[str]) -> str:
    """The name under which a program is kept."""
    macros = sorted((str(name), str(value)) for name, value in (defines or {}).items())
    return "program-" + fingerprint(_compiler(), str(source), arch, macros, list(map(str, options)))


def kept(key: str) -> Program | None:
    """A program that was compiled before, or None."""
    store = kernel_cache()
    data = store.get(key) if store else None
    if data is None:
        return None
    fields = json.loads(data)
    return Program(
        source=fields["source"],
        ptx=fields["ptx"],
        arch=fields["arch"],
        cubin=base64.b64decode(fields["cubin"]) if fields["cubin"] is not None else None,
        resources={name: Resources(**found) for name, found in fields["resources"].items()},
        signatures={
            name: tuple(Parameter(**parameter) for parameter in found)
            for name, found in fields["signatures"].items()
        },
        warnings=tuple(fields["warnings"]),
        entries=fields["entries"],
    )


def keep(key: str, program: Program) -> None:
    """Keep a program for the next time."""
    store = kernel_cache()
    if store is None:
        return
    fields = {
        "source": program.source,
        "ptx": program.ptx,
        "arch": program.arch,
        "cubin": base64.b64encode(program.cubin).decode() if program.cubin is not None else None,
        "resources": {name: asdict(found) for name, found in program.resources.items()},
        "signatures": {name: [asdict(p) for p in found] for name, found in program.signatures.items()},
        "warnings": list(program.warnings),
        "entries": dict(program.entries),
    }
    store.put(key, json.dumps(fields).encode())
