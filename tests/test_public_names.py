"""The public names: each exists, has a docstring with an example, and loads only what it needs."""

from __future__ import annotations

import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

import gpulab
from gpulab.gpus.catalogue import names

# Names whose parameter `gpu` takes the key of a catalogue GPU.
TAKES_GPU = (
    "catalogue_table",
    "device_query",
    "ladder_table",
    "memory_table",
    "roofline",
    "sweep_table",
    "transfer_table",
)


def documentation(name: str) -> str:
    """Return the docstrings of a public object; of a module, those of its public names too."""
    if name == "__version__":
        return gpulab.__doc__ or ""
    value = getattr(gpulab, name)
    parts = [value, *(getattr(value, n) for n in value.__all__)] if isinstance(value, ModuleType) else [value]
    return "\n".join(part.__doc__ or "" for part in parts)


def functions(value: Any) -> Iterator[Callable[..., Any]]:
    """Yield a public function, or the functions of a public class or module."""
    if isinstance(value, ModuleType):
        for name in value.__all__:
            yield from functions(getattr(value, name))
    elif inspect.isclass(value):
        members = (inspect.unwrap(getattr(value, name)) for name in vars(value) if name[0] != "_")
        yield from (member for member in members if inspect.isfunction(member) or inspect.ismethod(member))
    elif inspect.isfunction(value):
        yield inspect.unwrap(value)


def undescribed(function: Callable[..., Any]) -> list[str]:
    """Return the parameters that a docstring does not describe, and "Returns" if it needs this section."""
    text, signature = inspect.getdoc(function) or "", inspect.signature(function)
    described = {
        name.strip(" *")
        for line in re.findall(r"^[\w*, ]+(?= : |$)", text, re.MULTILINE)
        for name in line.split(",")
    }
    missing = [name for name in signature.parameters if name != "self" and name not in described]
    has_result = signature.return_annotation not in ("None", None)
    return missing + ["Returns"] * (has_result and not re.search(r"^(Returns|Yields)$", text, re.MULTILINE))


def test_docstrings_describe_all_parameters_and_the_result() -> None:
    public = [function for name in gpulab.__all__ for function in functions(getattr(gpulab, name))]
    assert {function.__qualname__: missing for function in public if (missing := undescribed(function))} == {}


def test_public_names_exist() -> None:
    assert [name for name in gpulab.__all__ if not hasattr(gpulab, name)] == []


def test_public_names_have_a_docstring_with_an_example() -> None:
    assert [name for name in gpulab.__all__ if ">>> " not in documentation(name)] == []


def test_docstrings_list_every_gpu_of_the_catalogue() -> None:
    texts = {name: documentation(name) for name in TAKES_GPU}
    assert [(name, key) for name in texts for key in names() if f'"{key}"' not in texts[name]] == []


def test_other_name_raises_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        _ = gpulab.nonsense


def test_dir_lists_the_public_names() -> None:
    assert set(gpulab.__all__) <= set(dir(gpulab))


def test_public_names_are_sorted_and_unique() -> None:
    assert gpulab.__all__ == sorted(set(gpulab.__all__))


def test_public_names_differ_from_submodules() -> None:
    # Importing a submodule sets an attribute of the package, which would replace a public name.
    submodules = {module.name for module in pkgutil.iter_modules(gpulab.__path__)}
    assert submodules & set(gpulab.__all__) == {"problems", "timing"}
