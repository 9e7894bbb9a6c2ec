"""From a cell's text to a `Program`: check, compile, and read what the compiler and assembler say."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from gpulab.compiler import nvrtc, store
from gpulab.compiler.diagnostics import parse_log
from gpulab.compiler.mangling import plain_name, plain_names
from gpulab.compiler.preprocess.headers import OWN_HEADERS, nvidia_include_folders
from gpulab.compiler.preprocess.includes import check_source
from gpulab.compiler.preprocess.options import check_options
from gpulab.compiler.preprocess.phases import SourceText, read_source
from gpulab.compiler.program import Program
from gpulab.compiler.resources import parse_report
from gpulab.compiler.signature import entry_signature, ptx_entries, target_arch
from gpulab.errors import CompileError, Diagnostic, UsageError

__all__ = ["compile_program", "ptx_program"]

# With a driver, NVRTC (12.9 and later) keeps what it compiled; a kept program has no report of the assembler.
_ANEW = "--no-cache"
# Warnings that a half-written kernel always has: declared (177) or set (550), but never used.
_QUIET = "--diag-suppress=177,550"
_FILE_LINE = re.compile(r'^(\s*\.file\s+\d+\s+)"([^"\n]*)"', re.MULTILINE)


def compile_program(
    source: str,
    *,
    arch: int = 90,
    defines: Mapping[str, object] | None = None,
    options: Sequence[str] = (),
) -> Program:
    """Compile CUDA C++17 for one compute capability (90 for sm_90); needs no GPU and no driver.

    A text that was compiled before, with the same options by the same compiler, comes from the disk.

    defines: macros by name, numbers or one line of C. options: NVRTC options out of
    `gpulab.compiler.preprocess.options`. Safe to call from several threads.

    Raises `CompileError` (the text is wrong; with diagnostics in its own line numbers),
    `IncludeRefused` (it could read a file; NVRTC never saw it), `UsageError` (options, architecture, no
    text at all), `GpulabError` (no NVRTC here).
    """
    key = store.key_of(source, arch, defines, options)
    found = store.kept(key)
    if found is None:
        found = _compile(source, arch, defines, options)
        store.keep(key, found)
    return found


def _compile(source: str, arch: int, defines: Mapping[str, object] | None, options: Sequence[str]) -> Program:
    chosen = check_options(options, defines)
    text = read_source(source)
    checked = check_source(text, chosen.defines)
    nvrtc.check_arch(arch)
    folders = nvidia_include_folders() if checked.needs_nvidia else ()
    headers = OWN_HEADERS if checked.needs_headers else {}
    flags = [*chosen.flags, "-lineinfo", _QUIET, _ANEW, *(f"-I{folder}" for folder in folders)]

    draft = ""
    if "asm" in checked.text or "##" in checked.text or "%:%:" in checked.text:
        # The assembler crashes on a line marker (`# 1 "file"`), so it may not see unread assembly.
        output = nvrtc.compile_text(checked.text, [*flags, f"--gpu-architecture=compute_{arch}"], headers)
        draft = output.ptx
        _refuse_line_markers(draft, text, folders)
    flags += [f"--gpu-architecture=sm_{arch}", "--ptxas-options=-v"]
    output = nvrtc.compile_text(checked.text, flags, headers)
    found = parse_log(output.log, text, draft, folders)
    if not output.ok:
        errors = [one for one in found if one.severity == "error"]
        unknown = Diagnostic(0, 0, "error", "the compiler refused this text and did not say why.")
        raise CompileError(errors or [unknown])
    warnings = tuple(_one_line(one) for one in found if one.severity == "warning")
    return replace(_program(text, output, arch, folders, warnings), source=source)


def ptx_program(text: str) -> Program:
    """A `Program` of PTX that was compiled elsewhere: no machine code and no resource report.

    Parameters are named `param_0`, `param_1`, …; see `entry_signature` for their kinds.
    """
    if not isinstance(text, str):
        raise UsageError(f"PTX must be text, not {type(text).__name__}.")
    if "\0" in text:
        text = text.rstrip("\0")  # as `nvrtcGetPTX` gives it
    arch = target_arch(text)
    if not arch:
        raise UsageError("this is no PTX: it names no `.target sm_…`.")
    entries = ptx_entries(text)
    names = plain_names(entry.name for entry in entries)
    by_name = {entry.name: entry for entry in entries}
    signatures = {name: entry_signature(by_name[entry]) for name, entry in names.items()}
    return Program(source=text, ptx=text, arch=arch, signatures=signatures, entries=names)


def _program(
    text: SourceText, output: nvrtc.Output, arch: int, folders: Sequence[str], warnings: tuple[str, ...]
) -> Program:
    entries = sorted(ptx_entries(output.ptx), key=lambda entry: entry.line)
    names = plain_names(entry.name for entry in entries)
    by_name = {entry.name: entry for entry in entries}
    report = parse_report(output.log, output.cubin)
    return Program(
        source=text.student,
        ptx=_FILE_LINE.sub(lambda match: f'{match[1]}"{_shown_path(match[2], folders)}"', output.ptx),
        arch=arch,
        cubin=_without_folders(output.cubin, folders),
        resources={name: report[entry] for name, entry in names.items() if entry in report},
        signatures={
            name: entry_signature(by_name[entry], plain_name(entry), text) for name, entry in names.items()
        },
        warnings=warnings,
        entries=names,
    )


def _refuse_line_markers(ptx: str, text: SourceText, folders: Sequence[str]) -> None:
    for folder in folders:
        ptx = ptx.replace(folder, "")
    if "#" not in ptx:
        return
    place = next((token for token in text.tokens if "asm" in token.text), text.tokens[0])
    raise CompileError([text.diagnostic(place.offset, "inline assembly may not hold a `#`.")])


def _shown_path(path: str, folders: Sequence[str]) -> str:
    """A source file's name in PTX: `cell.cu`, or a header's name below its include folder."""
    if path == nvrtc.FILE_NAME:
        return path.lstrip("/")
    for folder in sorted(folders, key=len, reverse=True):
        if path.startswith(folder):
            return path[len(folder) :].lstrip("/\\")
    return re.split(r"[/\\]", path)[-1]


def _without_folders(cubin: bytes, folders: Sequence[str]) -> bytes:
    """Machine code whose line table names no folder of this machine; the length stays, so do all offsets."""
    for folder in sorted(folders, key=len, reverse=True):
        cubin = cubin.replace(folder.encode(), b"/" * len(folder.encode()))
    return cubin


def _one_line(diagnostic: Diagnostic) -> str:
    where = f"line {diagnostic.line}: " if diagnostic.line else ""
    return where + diagnostic.message.replace("\n", " ")
