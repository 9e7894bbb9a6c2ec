"""Messages that replace those of the compiler, for the errors that beginners meet first."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["NOT_WHOLE", "NO_KERNEL_LAUNCH", "clearer_beginning", "wrong_arguments"]

NO_KERNEL_LAUNCH = (
    "a kernel cannot launch a kernel here (dynamic parallelism needs nvcc and its device runtime)."
)
NOT_WHOLE = "this must be a whole number, such as an `int`; an index or a remainder cannot be a `float`."
_CLEARER_MESSAGES = (
    (
        "A function without execution space annotations",
        "this function has no `__global__` or `__device__` specifier; host code is not compiled here.",
    ),
    (
        "expression must have a constant value",
        "this must be a constant, such as BLOCK_X; variables, parameters and blockDim.x are not constants",
    ),
    (
        "expression must be a modifiable lvalue",
        "this cannot be assigned to: it is const, as input arrays and `__constant__` are, or no variable.",
    ),
    (
        "A namespace scope variable without memory space annotations",
        "this variable is outside every function; add `__device__` or `__constant__` before its type.",
    ),
    (
        "dynamic initialization is not supported for a __",
        "this value must be a constant expression; a `const float` in it must be `constexpr float`.",
    ),
    (
        "texture is not a template",
        "CUDA 12 removed texture references; pass a `cudaTextureObject_t`, which `dev.texture(x)` creates.",
    ),
    (
        "surface is not a template",
        "CUDA 12 removed surface references; pass a `cudaSurfaceObject_t`, which `dev.surface(x)` creates.",
    ),
    (
        "device-side kernel launch could not be processed",
        NO_KERNEL_LAUNCH,
    ),
    (
        "expression must have arithmetic or unscoped enum type",
        "this is not a number; of an array or a pointer, use one element, such as `x[i]`.",
    ),
    (
        "expression must have pointer-to-object type but it has type",
        "this is no array and has no index; an array `float* a` is read with one index: `a[y * nx + x]`.",
    ),
    (
        "expression must have integral or unscoped enum type",
        NOT_WHOLE,
    ),
    (
        "expression preceding parentheses of apparent call must have",
        "this is not a function; an element of an array is written with brackets, such as `x[i]`.",
    ),
    (
        "return value type does not match the function type",
        "the function does not return a value of this type; a kernel is `void` and stores its results.",
    ),
    (
        'no suitable conversion function from "const uint3"',
        "threadIdx and blockIdx have three parts: write `.x`, `.y` or `.z` after the name.",
    ),
    (
        'no suitable conversion function from "const dim3"',
        "blockDim and gridDim have three parts: write `.x`, `.y` or `.z` after the name.",
    ),
    (
        'no suitable constructor exists to convert from "const float" to "float4"',
        "one float is not a float4; a pointer to float4 reads four floats, as in `((const float4*) x)[i]`.",
    ),
    (
        'no operator "[]" matches these operands',
        "this type has no index in brackets; the parts of a float4 are .x, .y, .z and .w.",
    ),
    *(
        (
            f'no operator "{operator}" matches these operands',
            f"the operator {operator} does not exist for these types; use their parts, such as `.x`.",
        )
        for operator in "+-*/"
    ),
)
_ATOMIC = re.compile(r'no instance of overloaded function "(atomic\w+)" matches the argument list')
_POINTER_AS_VALUE = re.compile(
    r'a value of type "(?:const )?(\w+) \*" cannot be '
    r'(?:used to initialize|assigned to) an entity of type "\1"'
)
_SHUFFLE = re.compile(r'no instance of overloaded function "(__shfl\w*_sync)" matches the argument list')
_AMBIGUOUS = re.compile(r'more than one instance of overloaded function "(\w+)" matches the argument list')
_ARGUMENT_TYPES = re.compile(r"argument types are: \((?P<types>.*)\)")


def clearer_beginning(text: str) -> str:
    """Return the message that replaces one of the compiler's for beginners; "" if there is none."""
    if _POINTER_AS_VALUE.fullmatch(text):
        return "an array or a pointer is not one value; use one element, such as `x[i]`."
    return next((clearer for start, clearer in _CLEARER_MESSAGES if text.startswith(start)), "")


def wrong_arguments(text: str, notes: Iterable[str]) -> str:
    """Return a clearer message for arguments of types for which there is no function, or several, or ""."""
    types = next(filter(None, map(_ARGUMENT_TYPES.match, notes)), None)
    if types is None:
        return ""
    if name := _AMBIGUOUS.match(text):
        return (
            f"`{name[1]}` is called with arguments of types ({types['types']}), and several functions of "
            "this name fit: give all arguments the same type, such as `0.0f` for 0, or `float(i)` for an int."
        )
    if name := _SHUFFLE.match(text):
        return (
            f"`{name[1]}` is called with arguments of types ({types['types']}): its first argument is the "
            f"mask of the lanes that take part, as in `{name[1]}(0xffffffff, …)`."
        )
    name = _ATOMIC.match(text)
    if name is None:
        return ""
    first = types["types"].partition(",")[0]
    if "*" not in first:
        advice = "the first argument is the address of an element, such as `&x[i]`"
    elif first.startswith("const "):
        advice = "the first argument points to elements that are `const`, which cannot be changed"
    else:
        advice = "there is no such function for these types"
    return f"{name[1]} is called with arguments of types ({types['types']}): {advice}."
