"""The kernels of a CUDA C++ file as cells, each with the declarations that it needs.

cells = extract(read_items(Path("reduction.cu")).items)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from gpulab.compiler.declarators import angle_end
from gpulab.compiler.extraction.declared_names import CLASS_KEYS
from gpulab.compiler.extraction.instances import instances, passed_type_names
from gpulab.compiler.extraction.top_level import (
    NEEDED,
    ItemKind,
    SourceItem,
    SpecifierMacros,
    read_items_of,
)
from gpulab.compiler.preprocess.headers import (
    allowed_headers,
    header_of,
    namespace_of,
    nvidia_header,
)
from gpulab.compiler.preprocess.phases import read_source
from gpulab.errors import GpulabError, UsageError

__all__ = ["ExtractedCell", "FileItems", "extract", "read_items"]

_INCLUDE = re.compile(r'#\s*include\s*[<"]([^>"]+)[>"]')
_CONSTANT_OF_TYPE = re.compile(r"\bconst (\w+)(?= \w+ *=)")
# A member function that is `constexpr`, with the words of its declaration before that word.
_CONSTEXPR_MEMBER = re.compile(
    r"(?<![^;{}])(?P<before>[^;{}]*)\bconstexpr\b(?=[^;={}()]*\w\s*\([^;{}]*\)[\w\s]*\{)"
)
_RANDOM = "curand_kernel.h"
_COMMENT = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)+", re.DOTALL)
# C++ headers by names of namespace std that they declare; programs include some through others.
_STD_HEADERS = {
    "type_traits": "is_same is_same_v enable_if enable_if_t conditional conditional_t bool_constant "
    "integral_constant true_type false_type is_integral is_floating_point is_integral_v is_floating_point_v "
    "is_arithmetic is_signed is_unsigned is_pointer is_void is_base_of is_convertible "
    "make_signed make_unsigned make_signed_t make_unsigned_t common_type common_type_t "
    "remove_reference remove_reference_t remove_cv "
    "remove_cv_t remove_const remove_const_t remove_pointer remove_pointer_t add_const underlying_type decay "
    "decay_t void_t conjunction disjunction negation aligned_storage",
    "utility": "pair make_pair integer_sequence index_sequence make_index_sequence",
    "array": "array",
    "bit": "bit_cast countl_zero countr_zero has_single_bit popcount",
    "complex": "complex",
    "functional": "divides minus multiplies negate plus",
    "numeric": "gcd lcm",
    "optional": "nullopt optional",
    "span": "span",
    "tuple": "make_tuple tuple tuple_element tuple_size",
    "variant": "variant",
}
_STD_NAMES = frozenset(" ".join(_STD_HEADERS.values()).split())
# Names of namespace cooperative_groups by which a kernel under `using namespace` needs its slow header.
_GROUPS = frozenset(
    ("this_thread_block", "this_grid", "thread_block", "grid_group", "tiled_partition", "coalesced_threads")
) | frozenset(("thread_block_tile", "thread_group", "this_cluster", "coalesced_group"))
_BUILT_IN_VECTOR = re.compile(r"(?:u?char|u?short|u?int|u?long|u?longlong|float|double)[1-4]|dim3|half2?")


@dataclass(frozen=True)
class FileItems:
    """The items of a file, with those of the files it includes at their places.

    Attributes
    ----------
    items : list of SourceItem
        The items.
    missing : list of str
        The names of headers that were not found.
    """

    items: list[SourceItem]
    missing: list[str]


@dataclass(frozen=True)
class ExtractedCell:
    """A cell with the kernels that share variables or polymorphic classes of a module, mostly one.

    Attributes
    ----------
    kernels : tuple of str
        The names of its kernels, in the order of the file.
    instances : tuple of str
        Those of them that are templates, as host code launches them: `reduce<float, 256>`; without the
        arguments if no launch was found whose arguments are known.
    source : str
        The kernels and the declarations that they need.
    """

    kernels: tuple[str, ...]
    instances: tuple[str, ...]
    source: str


def read_items(path: Path, folders: Sequence[Path] = (), defines: Sequence[str] = ()) -> FileItems:
    """Return the items of a file and of the files that it includes.

    Parameters
    ----------
    path : Path
        The file.
    folders : sequence of Path
        Where to look for included files, after the folder of the file that includes them.
    defines : sequence of str
        Macros that the file does not define itself, as a compiler takes them: `"N"` or `"N=8"`.

    Raises
    ------
    UsageError
        If the file cannot be read.
    CompileError
        If the file contains characters that are not allowed in CUDA C.
    """
    parts = (define.partition("=") for define in defines)
    macros = "".join(f"#define {name} {value if given else 1}\n" for name, given, value in parts)
    specifiers: SpecifierMacros = {}
    result = FileItems(list(read_items_of(read_source(macros), specifiers)) if macros else [], [])
    _read_into(result, path, folders, set(), specifiers)
    return result


def _read_into(
    result: FileItems, path: Path, folders: Sequence[Path], seen: set[Path], specifiers: SpecifierMacros
) -> None:
    seen.add(path.resolve())
    try:
        text = path.read_text(encoding="utf-8-sig", errors="replace")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from None

    for item in read_items_of(read_source(text), specifiers):
        match = _include(item)
        if match is None or match[1] in allowed_headers():
            result.items.append(item)
            continue
        if known := _installed_copy(match[1]):
            result.items.append(replace(item, text=f"#include <{known}>"))
            continue
        places = (folder / match[1] for folder in (path.parent, *folders))
        found = next((place for place in places if place.is_file()), None)
        if found is None:
            result.missing.append(match[1])
        elif found.resolve() not in seen:
            try:
                _read_into(result, found, folders, seen, specifiers)
            except GpulabError:
                result.missing.append(match[1])


def _installed_copy(name: str) -> str:
    """Return `cub/cub.cuh` for `3rdparty/cub/cub.cuh`, a copy in a program; "" for other headers."""
    folders = name.split("/")
    paths = ("/".join(folders[first:]) for first in range(1, len(folders) - 1))
    return next((path for path in paths if path in allowed_headers()), "")


def extract(items: Sequence[SourceItem]) -> list[ExtractedCell]:
    """Return the kernels as cells; kernels that use one `__device__` variable are in one cell.

    So are kernels that use one class with virtual functions.

    Parameters
    ----------
    items : sequence of SourceItem
        The items of a file.
    """
    kernels: dict[str, None] = {}
    for item in items:
        if item.kind is ItemKind.KERNEL and item.tokens[-1].text == "}":
            kernels |= dict.fromkeys(item.names)
    groups: list[tuple[list[str], set[int]]] = []
    for name in kernels:
        names, chosen = [name], _closure(items, {name})
        shared = _shared_names(items, chosen)
        for group in [group for group in groups if shared & _shared_names(items, group[1])]:
            groups.remove(group)
            names, chosen = group[0] + names, group[1] | chosen
        groups.append((names, chosen))
    return [_cell(items, names, chosen) for names, chosen in groups]


def _shared_names(items: Sequence[SourceItem], chosen: Iterable[int]) -> set[str]:
    """Return the names that kernels share only in one module: variables, classes with virtual functions.

    An object with virtual functions refers to the code of the module whose kernel created it.
    """
    return {
        name
        for index in chosen
        if items[index].kind is ItemKind.DEVICE_VARIABLE or _has_virtual_functions(items[index])
        for name in items[index].names
    }


def _has_virtual_functions(item: SourceItem) -> bool:
    return item.kind is ItemKind.TYPE and any(token.text == "virtual" for token in item.tokens)


def _closure(items: Sequence[SourceItem], kernels: set[str]) -> set[int]:
    """Return the indices of the items that these kernels need, theirs included."""
    chosen = {n for n, item in enumerate(items) if item.kind is ItemKind.KERNEL and item.names & kernels}
    needed = {name for index in chosen for name in items[index].uses}
    needed |= _template_arguments(items, kernels) | passed_type_names(items, kernels)
    classes: set[str] = set()
    macros = {name: item.uses for item in items if item.kind is ItemKind.MACRO for name in item.names}

    grown = True
    while grown:
        grown = False
        for index in _kept_markers(items, chosen):
            needed |= items[index].uses
        for index, item in enumerate(items):
            if index in chosen or item.kind not in NEEDED:
                continue
            if _is_needed(item, needed, classes) or _specializes(item, macros, classes):
                chosen.add(index)
                needed |= item.uses
                if item.kind is ItemKind.TYPE and CLASS_KEYS & {token.text for token in item.tokens}:
                    classes |= item.names
                grown = True

    markers = _kept_markers(items, chosen)
    namespaces = {name for index in markers for name in items[index].names}
    foreign = needed.difference(*(item.names for item in items if item.kind in NEEDED))
    using = {n for n, item in enumerate(items) if _is_known_namespace(item, namespaces, foreign)}
    return chosen | using | _kept_markers(items, chosen | using)


def _is_known_namespace(item: SourceItem, namespaces: set[str], needed: set[str]) -> bool:
    """Return True for `using namespace` of a namespace that the cell contains or includes.

    needed: names that the cell uses and the file does not declare.
    """
    if item.kind is not ItemKind.USING_NAMESPACE:
        return False
    if "cooperative_groups" in item.names:
        return bool(needed & _GROUPS)
    if "std" in item.names and "cuda" not in item.uses:
        return bool(needed & _STD_NAMES)
    return bool(item.names & namespaces or item.uses & {"nvcuda", "cuda", "cub", "thrust"})


def _is_needed(item: SourceItem, needed: set[str], classes: set[str]) -> bool:
    """Return True for an item that declares a needed name; classes: those that the cell contains."""
    if "operator" in item.names:  # operators are called without their name, for types that are used
        types = {name for name in item.uses if name in needed and _BUILT_IN_VECTOR.fullmatch(name)}
        return bool(types) or bool(item.uses & classes) or bool((item.names - {"operator"}) & needed)
    if [token.text for token in item.tokens[:2]] == ["using", "std"]:
        # Functions such as std::max are known without `using`, and their header need not be.
        return bool(item.names & needed & _STD_NAMES)
    return bool(item.names & needed)


def _specializes(item: SourceItem, macros: Mapping[str, frozenset[str]], classes: set[str]) -> bool:
    """Return True for an invocation of a macro that specialises a template of the cell, as `TRAITS(int);`."""
    uses = {name for macro in item.names if item.kind is not ItemKind.MACRO for name in macros.get(macro, ())}
    return "template" in uses and bool(uses & classes)


def _template_arguments(items: Sequence[SourceItem], kernels: set[str]) -> set[str]:
    """Return the names that host code passes as template arguments, such as `square` in `launch<square>(x)`.

    They are names of device functions and types. The host function launches a kernel template, or is called
    by one that does.
    """
    host = [item for item in items if item.kind is ItemKind.HOST_FUNCTION]
    launchers = kernels | {name for item in host if item.uses & kernels for name in item.names}
    names: set[str] = set()
    for item in host:
        for index, (name, bracket) in enumerate(pairwise(item.tokens)):
            if name.text in launchers and bracket.text == "<":
                end = angle_end(item.tokens, index + 1)
                names |= {token.text for token in item.tokens[index + 2 : end] if token.kind == "identifier"}
    return names


def _kept_markers(items: Sequence[SourceItem], chosen: set[int]) -> set[int]:
    """Return the `#if`s, `#else`s, `#endif`s and namespaces around the chosen items."""
    kept: set[int] = set()
    open_groups: list[list[int]] = []  # indices of the markers, then -1 if the group is kept
    for index, item in enumerate(items):
        if item.kind is ItemKind.OPENING:
            open_groups.append([index])
        elif item.kind is ItemKind.BRANCH and open_groups:
            open_groups[-1].append(index)
        elif item.kind is ItemKind.CLOSING and open_groups:
            group = open_groups.pop()
            if -1 in group:
                kept |= {*group, index} - {-1}
                if open_groups:
                    open_groups[-1].append(-1)
        elif index in chosen and open_groups:
            open_groups[-1].append(-1)
    return kept


def _cell(items: Sequence[SourceItem], names: Sequence[str], chosen: set[int]) -> ExtractedCell:
    uses = {name for index in chosen for name in items[index].uses}
    declared = {
        name
        for index in chosen
        if items[index].kind is not ItemKind.USING_NAMESPACE
        for name in items[index].names
    }
    included = {match[1] for item in items if (match := _include(item)) and _is_useful(match[1], uses)}
    # <cuda/std/array> declares the names of <array>.
    added = sorted(
        _missing_headers(uses - declared) - included - {name.removeprefix("cuda/std/") for name in included}
    )

    spaces = {"__device__"} | {
        name
        for item in items
        if item.kind is ItemKind.MACRO and "__device__" in item.uses
        for name in item.names
    }

    floating = _floating_types(items)
    lines = [f"#include <{header}>" for header in added]
    for index, item in enumerate(items):
        match = _include(item)
        if index in chosen or (match and match[1] in included):
            lines.append(_as_device_code(item, spaces, floating))
    source = re.sub(r"\n(?:[ \t]*\n)+", "\n\n", "\n".join(lines)).strip("\n") + "\n"
    return ExtractedCell(tuple(names), tuple(instances(items, names, declared)), source)


def _floating_types(items: Iterable[SourceItem]) -> set[str]:
    """Return `float`, `double`, and the names that a file gives them: `typedef float real;`."""
    types = {"float", "double"}
    for item in items:
        words = [token.text for token in item.tokens]
        is_alias = item.kind in (ItemKind.TYPE, ItemKind.MACRO) and types.intersection(words)
        if is_alias and not {"{", "(", "<", "*"}.intersection(words):
            types |= item.names
    return types


def _missing_headers(names: set[str]) -> set[str]:
    """Return the headers that declare these names; programs include some of them through host headers."""
    headers = {header_of(name) for name in names} - {""}
    if "std" in names:
        headers |= {header for header, of_std in _STD_HEADERS.items() if names & {*of_std.split()}}
    return headers


def _as_device_code(item: SourceItem, spaces: set[str], floating: set[str]) -> str:
    """Return an item's text as NVRTC accepts it.

    spaces: the words that make a function one for the device; floating: the types `float` and `double`.

    NVRTC computes a constant of floating type only if it is `constexpr`, and needs `__device__` before a
    function that is `constexpr`, also in classes.
    """
    if item.kind is ItemKind.CONSTANT:
        return _CONSTANT_OF_TYPE.sub(
            lambda match: f"constexpr {match[1]}" if match[1] in floating else match[0], item.text, count=1
        )
    if item.kind is ItemKind.TYPE:
        return _CONSTEXPR_MEMBER.sub(lambda match: _member_for_device(match, spaces), item.text)
    if item.kind is not ItemKind.DEVICE_FUNCTION or item.uses & spaces:
        return item.text
    comment = _COMMENT.match(item.text)
    code = item.text[comment.end() :] if comment else item.text
    return item.text.removesuffix(code) + re.sub(r"\bconstexpr\b", "__device__ constexpr", code, count=1)


def _member_for_device(match: re.Match[str], spaces: set[str]) -> str:
    annotated = spaces.intersection(re.findall(r"\w+", match["before"]))
    return match[0] if annotated else f"{match['before']}__device__ constexpr"


def _include(item: SourceItem) -> re.Match[str] | None:
    return _INCLUDE.search(item.text) if item.kind is ItemKind.INCLUDE else None


def _is_useful(header: str, uses: set[str]) -> bool:
    """Return True for a header of NVIDIA whose namespace, if it has one, is named, or whose functions are.

    The names of C's headers are known without them.
    """
    namespace = namespace_of(header)
    if header == _RANDOM:  # an extra installs it
        return any(header_of(name) == header for name in uses)
    return bool(nvidia_header(header)) and (not namespace or namespace in uses)
