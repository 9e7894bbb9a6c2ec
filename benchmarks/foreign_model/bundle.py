"""Compiled programs of the launches, in one file, for a machine without the repositories and the compiler."""

from __future__ import annotations

import lzma
import pickle
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.compatibility.launches import Launch
from benchmarks.compatibility.listing import ListedKernel, cell_of, suite_of
from benchmarks.foreign_model.launch_list import ACC, ForeignLaunch, foreign_launches
from benchmarks.model_errors import measured_launches
from benchmarks.model_launches import config_of
from gpulab.compiler import compile_program
from gpulab.compiler.extraction.device_side import extract, read_items
from gpulab.compiler.nvrtc import version
from gpulab.compiler.program import Program
from gpulab.errors import GpulabError, UsageError

__all__ = ["PROGRAMS", "compiled", "folders_by_suite", "read_programs", "source_of", "write_bundle"]

PROGRAMS = "programs.pickle.xz"


def folders_by_suite(folders: list[Path]) -> dict[str, Path]:
    """Return the copies of the repositories by the repository's name."""
    return {
        ACC if (each / "CUDA" / "utilities").is_dir() else suite_of(each).name: each.resolve()
        for each in folders
    }


def source_of(folder: Path, each: ForeignLaunch) -> str:
    """Return the device side of a kernel's program."""
    if each.suite != ACC:
        return cell_of(folder, ListedKernel(each.suite, each.file, each.kernel)).source
    path = folder / each.file
    cells = extract(read_items(path, [path.parent, folder / "CUDA" / "utilities"]).items)
    for cell in cells:
        if each.kernel in cell.kernels:
            return cell.source
    raise UsageError(f"{each.kernel} was not found in {each.file}.")


def compiled(folder: Path, each: ForeignLaunch, launch: Launch) -> tuple[Program, str]:
    """Return the program of a launch for an H200, and the name of its kernel."""
    source = source_of(folder, each)
    for macro, size in launch.sizes.items():
        value = "" if size is None else rf"\1 {size}"
        source = re.sub(rf"(?m)^([ \t]*#[ \t]*define[ \t]+{macro})\b.*$", value, source)
    name = launch.instance or each.kernel
    expressions = (name,) if "<" in name else ()
    return compile_program(source, arch=90, defines=launch.defines, name_expressions=expressions), name


def write_bundle(folders: Mapping[str, Path], out: Path) -> dict[str, str]:
    """Write the programs of all launches to a folder, and return the errors by label."""
    foreign, labs, errors = {}, {}, {}
    for each in foreign_launches():
        try:
            program, name = compiled(folders[each.suite], each, each.launch())
        except GpulabError as error:
            errors[each.label] = str(error)
        else:
            foreign[each.label] = _without_text(program), name
    for label, launch in measured_launches().items():
        config = config_of(launch)
        program = compile_program(launch.source, arch=90, defines=config.defines)
        labs[label] = _without_text(program), program.pick(config.kernel_name)

    compiler = ".".join(map(str, version()))
    content = {"nvrtc": compiler, "foreign": foreign, "labs": labs}
    out.mkdir(parents=True, exist_ok=True)
    (out / PROGRAMS).write_bytes(lzma.compress(pickle.dumps(content)))
    return errors


def _without_text(program: Program) -> Program:
    prints = "vprintf" if "vprintf" in program.ptx else ""
    return replace(program, source="", ptx=prints, warnings=())


def read_programs(folder: Path) -> dict[str, Any]:
    """Return the content of a bundle."""
    data = lzma.decompress((folder / PROGRAMS).read_bytes())
    content: dict[str, Any] = pickle.loads(data)  # noqa: S301  (written by `write_bundle`)
    return content
