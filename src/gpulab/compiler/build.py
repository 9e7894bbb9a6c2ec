"""Compilation of CUDA C to a `Program`: include guard, NVRTC, and the parsing of its output."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from gpulab.compiler import nvrtc, store
from gpulab.compiler.advice import advice
from gpulab.compiler.array_extents import declared_extents
from gpulab.compiler.declarators import templates
from gpulab.compiler.extraction.host_code import without_host_code
from gpulab.compiler.mangling import kernel_names, plain_name
from gpulab.compiler.messages.diagnostics import parse_log
from gpulab.compiler.module_variables import module_variables
from gpulab.compiler.preprocess.c_headers import (
    IMPLICIT_HEADER,
    implicit_definitions,
    integer_overloads,
)
from gpulab.compiler.preprocess.headers import (
    include_folders,
    is_of_libcuxx,
    narrowed_headers,
    own_headers,
)
from gpulab.compiler.preprocess.includes import CheckedText, check_source
from gpulab.compiler.preprocess.inline_assembly import may_have_assembly, may_write_hash
from gpulab.compiler.preprocess.options import check_options
from gpulab.compiler.preprocess.phases import SourceText, read_source
from gpulab.compiler.program import Program, check_name_expressions
from gpulab.compiler.resources import parse_report
from gpulab.compiler.signature import entry_signature, ptx_entries, target_arch
from gpulab.errors import CompileError, Diagnostic, IncludeRefused, UsageError

__all__ = ["compile_program", "ptx_program"]

# NVRTC 12.9 and later caches programs if a driver is installed; a cached program has no ptxas report.
_NO_CACHE = "--no-cache"
# Cooperative groups then use their own type traits. NVRTC needs 0.9 s for those of libcu++.
_GROUPS_ALONE = "-D_CG_LIMIT_INCLUDED_DEPENDENCIES"
# With its limit for NVRTC, 16, the macros of libcu++'s type lists take 2 s to expand; longer lists are split.
_SHORT_TYPE_LISTS = "-D_CCCL_META_UNROLL_LIMIT=2"
_ABOUT_LIBCUXX = re.compile(r"\bcuda(?:::|/)|namespace \"cuda\"")  # in an error
# An unfinished kernel always has names that are declared (177) or set (550) but never used: no warning helps.
_SUPPRESS_UNUSED = "--diag-suppress=177,550"
_INT128 = "--device-int128"  # nvcc has `__int128` without an option
_USED_BEFORE_SET = re.compile(r'variable "(\w+)" is used before its value is set')
_NAME_ERROR = re.compile(
    rf"^{nvrtc.NAMES_FILE}\(\d+\): error: (?P<text>.*)\n\s*#pragma nv_mangled_name (?P<name>.*)$",
    re.MULTILINE,
)
_AMBIGUOUS = re.compile(r'more than one instance of overloaded function "(?:std::)?(\w+)" matches')
_FILE_LINE = re.compile(r'^(\s*\.file\s+\d+\s+)"([^"\n]*)"', re.MULTILINE)


def compile_program(
    source: str,
    *,
    arch: int = 90,
    defines: Mapping[str, object] | None = None,
    options: Sequence[str] = (),
    name_expressions: Sequence[str] = (),
) -> Program:
    """Compile CUDA C++ with NVRTC; no GPU and no driver is needed.

    The result is cached on disk by source, options and compiler. Several threads may compile at once.

    Parameters
    ----------
    source : str
        The source; C++17 unless an option selects another standard.
    arch : int
        The compute capability as a number: 90 for sm_90.
    defines : mapping, optional
        Macros by name; the values are numbers or one line of C.
    options : sequence of str
        NVRTC options that `gpulab.compiler.preprocess.options` allows.
    name_expressions : sequence of str
        Instances of templates to compile, such as `k<8>`.

    Raises
    ------
    CompileError
        If the source does not compile; the diagnostics have the source's line numbers.
    IncludeRefused
        If the source could open a file; NVRTC did not run.
    UsageError
        If a header is not installed, an option or the architecture is not supported, or the source contains
        no code.
    GpulabError
        If NVRTC is not installed.
    """
    expressions = check_name_expressions(name_expressions)
    key = store.key_of(source, arch, defines, options, expressions)
    program = store.load(key)
    if program is None:
        program = _compile(source, arch, defines, options, expressions)
        store.save(key, program)
    return program


def _compile(
    source: str,
    arch: int,
    defines: Mapping[str, object] | None,
    options: Sequence[str],
    expressions: Sequence[str],
) -> Program:
    chosen = check_options(options, defines)
    text = read_source(source)
    try:
        checked = check_source(text, chosen.defines)
    except IncludeRefused as error:
        raise IncludeRefused(without_host_code(text, error.diagnostics)) from None
    nvrtc.check_arch(arch)
    folders = include_folders(checked.headers)
    headers = own_headers(text) if checked.headers else {}
    implicit = implicit_definitions(text, chosen.defines, expressions)
    if implicit:
        headers = {**headers, IMPLICIT_HEADER: implicit}
    flags = [
        *chosen.flags,
        *([_INT128] if "int128" in checked.text and _INT128 not in chosen.flags else []),
        "-lineinfo",
        _SUPPRESS_UNUSED,
        _NO_CACHE,
        *(f"-I{folder}" for folder in folders),
        *([_SHORT_TYPE_LISTS] if folders else []),
        *([f"--pre-include={IMPLICIT_HEADER}"] if implicit else []),
    ]

    # ptxas crashes on a line marker (`# 1 "file"`) in inline assembly.
    to_ptx = [*flags, f"--gpu-architecture=compute_{arch}"]
    ptx = ""
    if may_have_assembly(checked.text) and may_write_hash(text, chosen.defines):
        ptx = _run(checked, to_ptx, headers, expressions).ptx
        _refuse_line_markers(ptx, text, folders)

    flags += [f"--gpu-architecture=sm_{arch}", "--ptxas-options=-v"]
    output = _run(checked, flags, headers, expressions)
    if not output.ok and not ptx and "ptxas" in output.log and may_have_assembly(checked.text):
        ptx = _run(checked, to_ptx, headers, expressions).ptx  # gives ptxas's messages their lines
    diagnostics = parse_log(output.log, text, ptx, folders)
    if not output.ok:
        errors = [diagnostic for diagnostic in diagnostics if diagnostic.severity == "error"]
        if not errors:
            _refuse_unknown_names(output.log)
        unknown = Diagnostic(0, 0, "error", "the compiler rejected the source without a message.")
        raise CompileError(without_host_code(text, errors) or [unknown])

    advised = advice(text, chosen.defines)
    found = [_one_line(diagnostic) for diagnostic in diagnostics if diagnostic.severity == "warning"]
    found = [warning for warning in found if not _is_about_unset(warning, advised)]
    return replace(
        _program(text, output, arch, folders, (*found, *advised)),
        source=source,
        shared_extents=declared_extents(text, chosen.defines),
        variables=module_variables(output.ptx, text, chosen.defines),
        templates=templates(text),
    )


def _run(
    checked: CheckedText, flags: Sequence[str], headers: Mapping[str, str], expressions: Sequence[str]
) -> nvrtc.NvrtcOutput:
    """Run NVRTC; if functions of <cmath> are called with integers, again with overloads for them."""
    output = _run_once(checked, flags, headers, expressions)
    overloads = integer_overloads(dict.fromkeys(_AMBIGUOUS.findall(output.log)))
    if output.ok or not overloads:
        return output
    headers = {**headers, IMPLICIT_HEADER: overloads + headers.get(IMPLICIT_HEADER, "")}
    included = f"--pre-include={IMPLICIT_HEADER}"
    return _run_once(checked, list(dict.fromkeys((*flags, included))), headers, expressions)


def _run_once(
    checked: CheckedText, flags: Sequence[str], headers: Mapping[str, str], expressions: Sequence[str]
) -> nvrtc.NvrtcOutput:
    """Run NVRTC with a part of NVIDIA's headers, and with all of them if the source needs more than the part.

    Cooperative groups do without libcu++, and <cuda/barrier> without most of what it includes.
    """
    groups = any(name.startswith("cooperative_groups") for name in checked.headers)
    alone = groups and not any(is_of_libcuxx(name) for name in checked.headers)
    fewer = [*flags, _GROUPS_ALONE] if alone else flags
    narrowed = narrowed_headers(checked.text, checked.headers)
    output = nvrtc.compile_text(checked.text, fewer, {**headers, **narrowed}, expressions)
    if output.ok or not (alone or (narrowed and _ABOUT_LIBCUXX.search(output.log))):
        return output
    return nvrtc.compile_text(checked.text, flags, headers, expressions)


def ptx_program(text: str) -> Program:
    """Return a `Program` of PTX that was compiled elsewhere; it has no machine code and no resource usage.

    Its parameters are named `param_0`, `param_1`, …; `entry_signature` describes their kinds.

    Raises `UsageError` if the text is not PTX.
    """
    if not isinstance(text, str):
        raise UsageError(f"PTX must be text, not {type(text).__name__}.")
    if "\0" in text:
        text = text.rstrip("\0")  # `nvrtcGetPTX` returns a trailing NUL
    arch = target_arch(text)
    if not arch:
        raise UsageError("this is not PTX: it has no `.target sm_…` directive.")

    entries = ptx_entries(text)
    names = kernel_names(entry.name for entry in entries)
    by_name = {entry.name: entry for entry in entries}
    signatures = {name: entry_signature(by_name[entry]) for name, entry in names.items()}
    return Program(
        source=text,
        ptx=text,
        arch=arch,
        signatures=signatures,
        entries=names,
        variables=module_variables(text),
    )


def _program(
    text: SourceText, output: nvrtc.NvrtcOutput, arch: int, folders: Sequence[str], warnings: tuple[str, ...]
) -> Program:
    entries = sorted(ptx_entries(output.ptx), key=lambda entry: entry.line)
    names = kernel_names(entry.name for entry in entries)
    by_name = {entry.name: entry for entry in entries}
    name_of = {entry: name for name, entry in names.items()}
    report = parse_report(output.log, output.cubin)

    return Program(
        source=text.student,
        ptx=_FILE_LINE.sub(lambda match: f'{match[1]}"{_relative_path(match[2], folders)}"', output.ptx),
        arch=arch,
        cubin=_without_folders(output.cubin, folders),
        resources={name: report[entry] for name, entry in names.items() if entry in report},
        signatures={
            name: entry_signature(by_name[entry], plain_name(entry), text) for name, entry in names.items()
        },
        warnings=warnings,
        entries=names,
        expressions={
            expression: name_of[symbol] for expression, symbol in output.lowered.items() if symbol in name_of
        },
    )


def _refuse_unknown_names(log: str) -> None:
    """Raise `UsageError` if NVRTC found no kernel for a name expression."""
    if match := _NAME_ERROR.search(log):
        raise UsageError(f"the source has no kernel `{match['name']}`: {match['text']}.")


def _refuse_line_markers(ptx: str, text: SourceText, folders: Sequence[str]) -> None:
    for folder in folders:
        ptx = ptx.replace(folder, "")
    if "#" not in ptx:
        return
    token = next((token for token in text.tokens if "asm" in token.text), text.tokens[0])
    raise CompileError([text.diagnostic(token.offset, "inline assembly may not contain `#`.")])


def _relative_path(path: str, folders: Sequence[str]) -> str:
    """Return a file name without folders of this machine: `cell.cu`, or a header below its include folder."""
    for folder in sorted(folders, key=len, reverse=True):
        if path.startswith(folder):
            return path[len(folder) :].lstrip("/\\")
    return re.split(r"[/\\]", path)[-1]


def _without_folders(cubin: bytes, folders: Sequence[str]) -> bytes:
    """Return machine code whose line table contains no folder of this machine.

    Each name is overwritten with as many slashes, so that all offsets in the file remain valid.
    """
    for folder in sorted(folders, key=len, reverse=True):
        cubin = cubin.replace(folder.encode(), b"/" * len(folder.encode()))
    return cubin


def _is_about_unset(warning: str, advised: Sequence[str]) -> bool:
    """Return True if a warning of NVRTC is about a variable without a value that `advice` names, too."""
    match = _USED_BEFORE_SET.search(warning)
    return match is not None and any(f"`{match[1]}` is uninitialized" in each for each in advised)


def _one_line(diagnostic: Diagnostic) -> str:
    place = f"line {diagnostic.line}: " if diagnostic.line else ""
    return place + diagnostic.message.replace("\n", " ")
