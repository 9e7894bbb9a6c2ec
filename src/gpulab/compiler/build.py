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
from gpulab.compiler.program import Program, check_name_expressions
from gpulab.compiler.resources import parse_report
from gpulab.compiler.signature import entry_signature, ptx_entries, target_arch
from gpulab.compiler.translation_unit import SILENCED, TranslationUnit
from gpulab.errors import CompileError, Diagnostic, UsageError

__all__ = ["compile_program", "ptx_program"]

_USED_BEFORE_SET = re.compile(r'variable "(\w+)" is used before its value is set')
_NAME_ERROR = re.compile(
    rf"^{nvrtc.NAMES_FILE}\(\d+\): error: (?P<text>.*)\n\s*#pragma nv_mangled_name (?P<name>.*)$",
    re.MULTILINE,
)
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
        program = _compile(TranslationUnit.of(source, arch, defines, options, expressions))
        store.save(key, program)
    return program


def _compile(unit: TranslationUnit) -> Program:
    # ptxas crashes on a line marker (`# 1 "file"`) in inline assembly.
    ptx = ""
    if unit.may_have_line_markers:
        ptx = unit.to_ptx()
        _refuse_line_markers(ptx, unit)

    output = unit.to_machine_code()
    if not output.ok and not ptx and "ptxas" in output.log and unit.may_have_assembly:
        ptx = unit.to_ptx()  # gives ptxas's messages their lines
    diagnostics = parse_log(output.log, unit.text, ptx, unit.folders)
    if not output.ok:
        raise _compile_error(unit, output.log, diagnostics)
    program = _program(unit, output, _warnings(unit, diagnostics))
    return replace(program, silent=_silent(unit, program))


def _silent(unit: TranslationUnit, program: Program) -> Program | None:
    """Return the program without `printf` and `assert`; None if it calls neither, or defines them itself."""
    if not any(function in program.ptx for function in SILENCED):
        return None
    unit = unit.silenced()
    output = unit.to_machine_code()
    return _program(unit, output, ()) if output.ok else None


def _compile_error(unit: TranslationUnit, log: str, diagnostics: Sequence[Diagnostic]) -> CompileError:
    """Return the error of a failed compilation; raise `UsageError` if only a name expression is wrong."""
    errors = [diagnostic for diagnostic in diagnostics if diagnostic.severity == "error"]
    if not errors:
        _refuse_unknown_names(log)
    unknown = Diagnostic(0, 0, "error", "the compiler rejected the source without a message.")
    return CompileError(without_host_code(unit.text, errors) or [unknown])


def _warnings(unit: TranslationUnit, diagnostics: Sequence[Diagnostic]) -> tuple[str, ...]:
    """Return the warnings of the compiler, and then the advice of gpulab."""
    advised = advice(unit.text, unit.defines)
    warnings = [_one_line(diagnostic) for diagnostic in diagnostics if diagnostic.severity == "warning"]
    return (*(warning for warning in warnings if not _is_about_unset(warning, advised)), *advised)


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


def _program(unit: TranslationUnit, output: nvrtc.NvrtcOutput, warnings: tuple[str, ...]) -> Program:
    entries = sorted(ptx_entries(output.ptx), key=lambda entry: entry.line)
    names = kernel_names(entry.name for entry in entries)
    by_name = {entry.name: entry for entry in entries}
    name_of = {entry: name for name, entry in names.items()}
    report = parse_report(output.log, output.cubin)

    return Program(
        source=unit.source,
        ptx=_FILE_LINE.sub(lambda match: f'{match[1]}"{_relative_path(match[2], unit.folders)}"', output.ptx),
        arch=unit.arch,
        cubin=_without_folders(output.cubin, unit.folders),
        resources={name: report[entry] for name, entry in names.items() if entry in report},
        signatures={
            name: entry_signature(by_name[entry], plain_name(entry), unit.text)
            for name, entry in names.items()
        },
        warnings=warnings,
        entries=names,
        shared_extents=declared_extents(unit.text, unit.defines),
        variables=module_variables(output.ptx, unit.text, unit.defines),
        expressions={
            expression: name_of[symbol] for expression, symbol in output.lowered.items() if symbol in name_of
        },
        templates=templates(unit.text),
    )


def _refuse_unknown_names(log: str) -> None:
    """Raise `UsageError` if NVRTC found no kernel for a name expression."""
    if match := _NAME_ERROR.search(log):
        raise UsageError(f"the source has no kernel `{match['name']}`: {match['text']}.")


def _refuse_line_markers(ptx: str, unit: TranslationUnit) -> None:
    for folder in unit.folders:
        ptx = ptx.replace(folder, "")
    if "#" not in ptx:
        return
    tokens = unit.text.tokens
    token = next((token for token in tokens if "asm" in token.text), tokens[0])
    raise CompileError([unit.text.diagnostic(token.offset, "inline assembly may not contain `#`.")])


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
