"""A checked source with all that NVRTC needs to compile it: options, include folders and header texts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from gpulab.compiler import nvrtc
from gpulab.compiler.extraction.host_code import without_host_code
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
from gpulab.errors import IncludeRefused

__all__ = ["SILENCED", "TranslationUnit"]

# NVRTC 12.9 and later caches programs if a driver is installed; a cached program has no ptxas report.
_NO_CACHE = "--no-cache"
# Cooperative groups then use their own type traits. NVRTC needs 0.9 s for those of libcu++.
_GROUPS_ALONE = "-D_CG_LIMIT_INCLUDED_DEPENDENCIES"
# With its limit for NVRTC, 16, the macros of libcu++'s type lists take 2 s to expand; longer lists are split.
_SHORT_TYPE_LISTS = "-D_CCCL_META_UNROLL_LIMIT=2"
_ABOUT_LIBCUXX = re.compile(r"\bcuda(?:::|/)|namespace \"cuda\"")  # in an error
# An unfinished kernel always has names that are declared (177) or set (550) but never used: no warning helps.
_SUPPRESS_UNUSED = "--diag-suppress=177,550"
_PRE_INCLUDE = f"--pre-include={IMPLICIT_HEADER}"
_INT128 = "--device-int128"  # nvcc has `__int128` without an option
# Leaves out the declarations of textures, of surfaces and of CUDA's APIs, which take a fifth of the time of a
# short compilation. A source that contains a beginning of their names is compiled with them.
_MINIMAL = "--minimal"
_MAY_NEED_ALL = re.compile(r"\b(?:cuda|CU|tex|surf)|<<<|##")
# The functions behind `printf` and `assert`, and definitions of them that do nothing. The compiler inlines
# them and removes what only their arguments need; side effects of arguments remain. They are not declared
# inline, because NVRTC would drop them before it translates `printf` to calls of them.
SILENCED = ("vprintf", "__assertfail")
_SILENT_DEFINITIONS = """\
extern "C" __device__ int vprintf(const char*, const char*) { return 0; }
extern "C" __device__ void __assertfail(
    const char*, const char*, unsigned int, const char*, decltype(sizeof(0))) {}
"""
_AMBIGUOUS = re.compile(r'more than one instance of overloaded function "(?:std::)?(\w+)" matches')


@dataclass(frozen=True)
class TranslationUnit:
    """A source that passed the include guard, and what NVRTC needs to compile it.

    Attributes
    ----------
    source : str
        The source as it was given.
    text : SourceText
        The same after translation phase 3.
    checked : CheckedText
        The text that NVRTC compiles, which includes only allowed headers.
    arch : int
        The compute capability as a number: 90 for sm_90.
    defines : mapping of str to str
        Macros that are defined by options, by name.
    flags : tuple of str
        NVRTC's options, without those that select PTX or machine code.
    folders : sequence of str
        Include folders.
    headers : mapping of str to str
        Texts of headers that are in none of these folders, by name.
    expressions : sequence of str
        Instances of templates to compile.
    """

    source: str
    text: SourceText
    checked: CheckedText
    arch: int
    defines: Mapping[str, str]
    flags: tuple[str, ...]
    folders: Sequence[str]
    headers: Mapping[str, str]
    expressions: Sequence[str]

    @classmethod
    def of(
        cls,
        source: str,
        arch: int,
        defines: Mapping[str, object] | None,
        options: Sequence[str],
        expressions: Sequence[str],
    ) -> TranslationUnit:
        """Check a source and its options.

        Raises `IncludeRefused` if the source could open a file, and `UsageError` for what
        `gpulab.compiler.compile_program` names.
        """
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
        flags = (
            *chosen.flags,
            *([_INT128] if "int128" in checked.text and _INT128 not in chosen.flags else []),
            "-lineinfo",
            _SUPPRESS_UNUSED,
            _NO_CACHE,
            *(f"-I{folder}" for folder in folders),
            *([_SHORT_TYPE_LISTS] if folders else []),
            *([_PRE_INCLUDE] if implicit else []),
        )
        return cls(source, text, checked, arch, chosen.defines, flags, folders, headers, expressions)

    def silenced(self) -> TranslationUnit:
        """Return the unit with definitions of the functions behind `printf` and `assert` that do nothing."""
        definitions = _SILENT_DEFINITIONS + self.headers.get(IMPLICIT_HEADER, "")
        return replace(
            self,
            headers={**self.headers, IMPLICIT_HEADER: definitions},
            flags=tuple(dict.fromkeys((*self.flags, _PRE_INCLUDE))),
        )

    @property
    def may_have_assembly(self) -> bool:
        """True if the source can contain inline assembly."""
        return may_have_assembly(self.checked.text)

    @property
    def may_have_line_markers(self) -> bool:
        """True if its inline assembly can contain a `#`, with which a line marker begins."""
        return self.may_have_assembly and may_write_hash(self.text, self.defines)

    @property
    def may_be_minimal(self) -> bool:
        """True if the source includes no header and has no name that `--minimal` leaves out."""
        parts = self.checked.text, *self.defines.values(), *self.expressions
        return not (self.checked.headers or any(map(_MAY_NEED_ALL.search, parts)))

    def to_ptx(self) -> str:
        """Compile to PTX without running ptxas; return "" if the source has errors."""
        return self._run((f"--gpu-architecture=compute_{self.arch}",)).ptx

    def to_machine_code(self) -> nvrtc.NvrtcOutput:
        """Compile to PTX and machine code; the log contains the report of ptxas."""
        return self._run((f"--gpu-architecture=sm_{self.arch}", "--ptxas-options=-v"))

    def _run(self, target: Sequence[str]) -> nvrtc.NvrtcOutput:
        """Run NVRTC; if functions of <cmath> are called with integers, again with overloads for them."""
        flags = [*self.flags, *target]
        output = self._run_minimally(flags) if self.may_be_minimal else None
        if output is None:
            output = self._run_once(flags, self.headers)
        overloads = integer_overloads(dict.fromkeys(_AMBIGUOUS.findall(output.log)))
        if output.ok or not overloads:
            return output
        headers = {**self.headers, IMPLICIT_HEADER: overloads + self.headers.get(IMPLICIT_HEADER, "")}
        return self._run_once(list(dict.fromkeys((*flags, _PRE_INCLUDE))), headers)

    def _run_minimally(self, flags: Sequence[str]) -> nvrtc.NvrtcOutput | None:
        """Run NVRTC with fewer declarations; return None if the source may lack one of the others."""
        text, expressions = self.checked.text, self.expressions
        output = nvrtc.compile_text(text, [*flags, _MINIMAL], self.headers, expressions)
        return output if output.ok or "is undefined" not in output.log else None

    def _run_once(self, flags: Sequence[str], headers: Mapping[str, str]) -> nvrtc.NvrtcOutput:
        """Run NVRTC with a part of NVIDIA's headers; with all if the source needs more than the part.

        Cooperative groups do without libcu++, and <cuda/barrier> without most of what it includes.
        """
        text, included = self.checked.text, self.checked.headers
        groups = any(name.startswith("cooperative_groups") for name in included)
        alone = groups and not any(is_of_libcuxx(name) for name in included)
        fewer = [*flags, _GROUPS_ALONE] if alone else flags
        narrowed = narrowed_headers(text, included)
        output = nvrtc.compile_text(text, fewer, {**headers, **narrowed}, self.expressions)
        if output.ok or not (alone or (narrowed and _ABOUT_LIBCUXX.search(output.log))):
            return output
        return nvrtc.compile_text(text, flags, headers, self.expressions)
