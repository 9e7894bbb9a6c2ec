"""Compiled programs in the disk cache, by source, options and compiler version."""

from __future__ import annotations

import base64
import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from gpulab.cache import fingerprint, kernel_cache, source_fingerprint
from gpulab.compiler.program import ModuleVariable, Parameter, Program, Resources

__all__ = ["key_of", "load", "save"]


@functools.cache
def _compiler() -> tuple[str, ...]:
    """Return the versions that a program depends on: NVRTC, headers, and this package's own files."""
    versions = []
    for package in ("nvidia-cuda-nvrtc", "cuda-bindings", "nvidia-cuda-cccl", "nvidia-curand"):
        try:
            versions.append(version(package))
        except PackageNotFoundError:
            versions.append("")
    return (*versions, source_fingerprint([Path(__file__).parent]))


def key_of(
    source: str,
    arch: int,
    defines: Mapping[str, object] | None,
    options: Sequence[str],
    expressions: Sequence[str] = (),
) -> str:
    """Return the name of a program in the cache."""
    macros = sorted((str(name), str(value)) for name, value in (defines or {}).items())
    choices = [list(map(str, options)), list(expressions)]
    return "program-" + fingerprint(_compiler(), str(source), arch, macros, choices)


def load(key: str) -> Program | None:
    """Return a program from the cache, or None if it is not there."""
    cache = kernel_cache()
    data = cache.get(key) if cache else None
    if data is None:
        return None
    return _program(json.loads(data))


def _program(fields: Mapping[str, Any]) -> Program:
    return Program(
        source=fields["source"],
        ptx=fields["ptx"],
        arch=fields["arch"],
        cubin=base64.b64decode(fields["cubin"]) if fields["cubin"] is not None else None,
        resources={name: Resources(**values) for name, values in fields["resources"].items()},
        signatures={
            name: tuple(Parameter(**parameter) for parameter in parameters)
            for name, parameters in fields["signatures"].items()
        },
        warnings=tuple(fields["warnings"]),
        entries=fields["entries"],
        shared_extents={name: tuple(extents) for name, extents in fields["shared_extents"].items()},
        variables={
            name: ModuleVariable(**{**variable, "shape": tuple(variable["shape"])})
            for name, variable in fields["variables"].items()
        },
        expressions=fields["expressions"],
        templates=fields["templates"],
        silent=_program(fields["silent"]) if fields["silent"] else None,
    )


def save(key: str, program: Program) -> None:
    """Write a program to the cache; no effect if the cache is switched off."""
    cache = kernel_cache()
    if cache is not None:
        cache.put(key, json.dumps(_fields(program)).encode())


def _fields(program: Program) -> dict[str, Any]:
    return {
        "source": program.source,
        "ptx": program.ptx,
        "arch": program.arch,
        "cubin": base64.b64encode(program.cubin).decode() if program.cubin is not None else None,
        "resources": {name: asdict(resources) for name, resources in program.resources.items()},
        "signatures": {
            name: [asdict(p) for p in signature] for name, signature in program.signatures.items()
        },
        "warnings": list(program.warnings),
        "entries": dict(program.entries),
        "shared_extents": dict(program.shared_extents),
        "variables": {name: asdict(variable) for name, variable in program.variables.items()},
        "expressions": dict(program.expressions),
        "templates": dict(program.templates),
        "silent": _fields(program.silent) if program.silent else None,
    }
