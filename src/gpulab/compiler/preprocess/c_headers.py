"""C's headers for kernels, and the names that nvcc knows without any of them.

NVRTC predefines CUDA's built-in names (`dim3`, `printf`, `atomicAdd`, …) and has no C standard headers. The
ones that programs usually include are defined here as strings. nvcc includes several of them before every
source, and sources rely on that: the definition of such a name is added to a source that uses it and does not
declare it itself, so that all other sources compile as fast as without.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest

from gpulab.compiler.preprocess.phases import SourceText, tokenize

__all__ = ["C_HEADERS", "IMPLICIT_HEADER", "implicit_definitions", "integer_overloads"]

IMPLICIT_HEADER = "gpulab_implicit_names.h"  # the name under which NVRTC includes `implicit_definitions`

# The types are those of NVIDIA's <cuda/std/cstdint> under NVRTC, because a kernel may include both.
_STDINT = """
typedef signed char int8_t;         typedef unsigned char uint8_t;
typedef signed short int16_t;       typedef unsigned short uint16_t;
typedef signed int int32_t;         typedef unsigned int uint32_t;
typedef signed long long int64_t;   typedef unsigned long long uint64_t;
typedef signed long long intptr_t;  typedef unsigned long long uintptr_t;
typedef signed long long intmax_t;  typedef unsigned long long uintmax_t;
typedef signed char int_least8_t;         typedef unsigned char uint_least8_t;
typedef signed short int_least16_t;       typedef unsigned short uint_least16_t;
typedef signed int int_least32_t;         typedef unsigned int uint_least32_t;
typedef signed long long int_least64_t;   typedef unsigned long long uint_least64_t;
typedef signed char int_fast8_t;          typedef unsigned char uint_fast8_t;
typedef signed short int_fast16_t;        typedef unsigned short uint_fast16_t;
typedef signed int int_fast32_t;          typedef unsigned int uint_fast32_t;
typedef signed long long int_fast64_t;    typedef unsigned long long uint_fast64_t;
#define INT8_MIN (-128)
#define INT8_MAX 127
#define UINT8_MAX 255
#define INT16_MIN (-32768)
#define INT16_MAX 32767
#define UINT16_MAX 65535
#define INT32_MIN (-2147483647 - 1)
#define INT32_MAX 2147483647
#define UINT32_MAX 4294967295u
#define INT64_MIN (-9223372036854775807ll - 1)
#define INT64_MAX 9223372036854775807ll
#define UINT64_MAX 18446744073709551615ull
#define SIZE_MAX 18446744073709551615ull
#define INT8_C(number) number
#define UINT8_C(number) number
#define INT16_C(number) number
#define UINT16_C(number) number
#define INT32_C(number) number
#define UINT32_C(number) number##u
#define INT64_C(number) number##ll
#define UINT64_C(number) number##ull
"""

# The abbreviations of <sys/types.h>, and `uchar`, which image-processing sources take for granted.
# libcu++ declares `time_t`, too, with this type.
_SYS_TYPES = """
typedef unsigned char uchar;   typedef unsigned short ushort;
typedef unsigned int uint;     typedef unsigned long ulong;
typedef unsigned char u_int8_t;    typedef unsigned short u_int16_t;
typedef unsigned int u_int32_t;    typedef unsigned long long u_int64_t;
typedef long ssize_t;          typedef long long time_t;
"""

# Types of CUDA's driver interface and of cuFFT that appear in the parameters of kernels.
_CUDA_TYPES = """
typedef unsigned long long CUdeviceptr;  typedef unsigned long long CUtexObject;
typedef unsigned long long CUsurfObject; typedef float cufftReal;
typedef double cufftDoubleReal;          typedef float2 cufftComplex;
typedef double2 cufftDoubleComplex;
"""

_LIMITS = """
#define CHAR_BIT 8
#define SCHAR_MIN (-128)
#define SCHAR_MAX 127
#define UCHAR_MAX 255
#define CHAR_MIN (-128)
#define CHAR_MAX 127
#define SHRT_MIN (-32768)
#define SHRT_MAX 32767
#define USHRT_MAX 65535
#define INT_MIN (-2147483647 - 1)
#define INT_MAX 2147483647
#define UINT_MAX 4294967295u
#define LONG_MIN (sizeof(long) == 4 ? -2147483647l - 1 : (long)(-9223372036854775807ll - 1))
#define LONG_MAX (sizeof(long) == 4 ? 2147483647l : (long)9223372036854775807ll)
#define ULONG_MAX (~0ul)
#define LLONG_MIN (-9223372036854775807ll - 1)
#define LLONG_MAX 9223372036854775807ll
#define ULLONG_MAX 18446744073709551615ull
"""

# IEEE 754 binary32 and binary64.
_FLOAT = """
#define FLT_RADIX 2
#define FLT_DIG 6
#define FLT_MANT_DIG 24
#define FLT_EPSILON 1.19209290e-7f
#define FLT_MIN 1.17549435e-38f
#define FLT_MAX 3.40282347e+38f
#define FLT_TRUE_MIN 1.40129846e-45f
#define DBL_DIG 15
#define DBL_MANT_DIG 53
#define DBL_EPSILON 2.2204460492503131e-16
#define DBL_MIN 2.2250738585072014e-308
#define DBL_MAX 1.7976931348623157e+308
#define DBL_TRUE_MIN 4.9406564584124654e-324
"""

# Constant expressions, as constant memory may be initialized with them.
_MATH = """
#define INFINITY (__builtin_bit_cast(float, 0x7f800000))
#define NAN (__builtin_bit_cast(float, 0x7fffffff))
#define HUGE_VALF (__builtin_bit_cast(float, 0x7f800000))
#define HUGE_VAL (__builtin_bit_cast(double, 0x7ff0000000000000ll))
#define M_E 2.71828182845904523536
#define M_LOG2E 1.44269504088896340736
#define M_LOG10E 0.43429448190325182765
#define M_LN2 0.69314718055994530942
#define M_LN10 2.30258509299404568402
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_1_PI 0.31830988618379067154
#define M_2_PI 0.63661977236758134308
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440
"""

# NVRTC 13.0 has no __builtin_offsetof.
_STDDEF = "#define offsetof(type, member) ((size_t)__INTADDR__(&(((type *)0)->member)))\n"

# NVRTC has no alloca(). The lambda is inlined, so that the memory lives as long as the caller.
_STDLIB = (
    "#define RAND_MAX 2147483647\n#define EXIT_SUCCESS 0\n#define EXIT_FAILURE 1\n"
    "#define alloca(size) ([](size_t bytes) { void* memory; "
    'asm volatile("{ .reg .u64 a; alloca.u64 a, %1, 16; cvta.local.u64 %0, a; }" '
    ': "=l"(memory) : "l"(bytes)); return memory; }(size))\n'
)

_TIME = "#define CLOCKS_PER_SEC 1000000\n"

_TYPEDEF = re.compile(r"typedef [^;]*?(\w+);")
_MACRO_LINE = re.compile(r"#define (\w+)")


def _guarded(name: str, text: str) -> str:
    """Return a header with an include guard that keeps the value of any macro that is already defined."""
    lines = [
        f"#ifndef {match[1]}\n{line}\n#endif" if (match := _MACRO_LINE.match(line)) else line
        for line in text.strip().splitlines()
    ]
    guard = f"GPULAB_{name}"
    return "\n".join([f"#ifndef {guard}", f"#define {guard}", *lines, "#endif", ""])


_TEXTS = {
    "assert.h": "",
    "float.h": _guarded("FLOAT_H", _FLOAT),
    "limits.h": _guarded("LIMITS_H", _LIMITS),
    "math.h": _guarded("MATH_H", _MATH),
    "stddef.h": _guarded("STDDEF_H", _STDDEF),
    "stdint.h": _guarded("STDINT_H", _STDINT),
    "stdio.h": "",
    "stdlib.h": _guarded("STDLIB_H", _STDLIB),
    "string.h": "",
    "time.h": _guarded("TIME_H", _TIME),
}

# C++ headers whose functions for kernels `implicit_definitions` adds, as for sources that include nothing.
_CPP_HEADERS = ("algorithm", "limits")

C_HEADERS: dict[str, str] = {
    **_TEXTS,
    **{"c" + name.removesuffix(".h"): text for name, text in _TEXTS.items()},
    **dict.fromkeys(("memory.h", *_CPP_HEADERS), ""),
    "alloca.h": _TEXTS["stdlib.h"],
    "inttypes.h": _TEXTS["stdint.h"],
    "sys/types.h": _guarded("SYS_TYPES_H", _SYS_TYPES),
}


def _definitions(*texts: str) -> Iterator[tuple[str, str]]:
    """Yield name and definition of each macro and type in these texts."""
    for line in "\n".join(texts).splitlines():
        if match := _MACRO_LINE.match(line):
            yield match[1], f"#ifndef {match[1]}\n{line}\n#endif"
        for match in _TYPEDEF.finditer(line):
            yield match[1], match[0]


_NAMES = dict(_definitions(_STDINT, _SYS_TYPES, _CUDA_TYPES, _LIMITS, _FLOAT, _MATH, _STDDEF, _STDLIB, _TIME))
_NAMES |= {name: f"#define {name} asm" for name in ("__asm__", "__asm")}  # nvcc knows GNU's spellings
_NAMES |= {name: f"#define {name} const" for name in ("__const__", "__const")}
_NAMES |= {"__volatile": "#define __volatile volatile", "__extension__": "#define __extension__"}
# Programmatic dependent launches, of compute capability 9.0; a kernel that is launched alone does not wait.
_NAMES |= {
    name: f"""static __device__ inline void {name}() {{
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.{action};" ::: "memory");
#endif
}}"""
    for name, action in (
        ("cudaGridDependencySynchronize", "wait"),
        ("cudaTriggerProgrammaticLaunchCompletion", "launch_dependents"),
    )
}
_NAMES["__NVCC__"] = "#define __NVCC__"  # sources ask for it before they write `__device__`
_NAMES["register"] = "#define register"  # nvcc ignores this word; in C++17 it is an error for NVRTC

# Functions and types of namespace std. The mathematical ones are CUDA's, which have all overloads.
_STD = {
    "min": (
        "template <class T> __host__ __device__ constexpr const T& min(const T& a, const T& b)"
        " { return b < a ? b : a; }"
    ),
    "max": (
        "template <class T> __host__ __device__ constexpr const T& max(const T& a, const T& b)"
        " { return a < b ? b : a; }"
    ),
    "clamp": (
        "template <class T> __host__ __device__ constexpr const T& clamp(const T& x, const T& low,"
        " const T& high) { return x < low ? low : high < x ? high : x; }"
    ),
    "swap": (
        "template <class T> __host__ __device__ void swap(T& a, T& b)"
        " { T c = static_cast<T&&>(a); a = static_cast<T&&>(b); b = static_cast<T&&>(c); }"
    ),
}
_MATH_FUNCTIONS = """
abs fabs acos asin atan atan2 cos sin tan cosh sinh tanh acosh asinh atanh exp exp2 expm1 log log2 log10 log1p
pow sqrt cbrt hypot erf erfc tgamma lgamma ceil floor trunc round lround llround nearbyint rint lrint llrint
fma fmin fmax fdim fmod remainder remquo frexp ldexp logb ilogb scalbn modf copysign nextafter
"""
_OTHER_NAMES_OF_C = """
signbit isfinite isinf isnan memcpy memset printf size_t ptrdiff_t clock_t
int8_t uint8_t int16_t uint16_t int32_t uint32_t int64_t uint64_t intptr_t uintptr_t
"""
_FROM_C = [
    *_MATH_FUNCTIONS.split(),
    *(f"{name}f" for name in _MATH_FUNCTIONS.split() if name != "abs"),
    *_OTHER_NAMES_OF_C.split(),
]
_STD |= {name: f"using ::{name};" for name in _FROM_C}


# Words before a name that they declare.
_BEFORE_A_NAME = frozenset(
    (
        "define",
        "using",
        "struct",
        "class",
        "enum",
        "union",
        "float",
        "double",
        "int",
        "unsigned",
        "long",
        "short",
    )
)


def _numeric_limits() -> str:
    """Return `std::numeric_limits` for the arithmetic types, with what kernels use of it."""
    value = dict(re.findall(r"#define (\w+) (.+)", _LIMITS + _FLOAT))
    head = "__host__ __device__ static constexpr"
    lines = ["template <class T> struct numeric_limits { static constexpr bool is_specialized = false; };"]
    for name, prefix in _LIMIT_PREFIXES.items():
        least = value.get(f"{prefix}_MIN", "0")
        is_real = prefix in ("FLT", "DBL")
        lowest = f"-{value[f'{prefix}_MAX']}" if is_real else least
        members = {"min": least, "max": value[f"{prefix}_MAX"], "lowest": lowest}
        if is_real:
            infinity, nan = (
                ("0x7f800000", "0x7fffffff") if name == "float" else ("0x7ffll << 52", "~0ull >> 1")
            )
            members["epsilon"] = value[f"{prefix}_EPSILON"]
            members["infinity"] = f"__builtin_bit_cast({name}, {infinity})"
            members["quiet_NaN"] = f"__builtin_bit_cast({name}, {nan})"
        digits = {"float": "24", "double": "53"}.get(name, f"sizeof({name}) * 8 - {int(lowest != '0')}")
        functions = " ".join(f"{head} {name} ({m})() {{ return {v}; }}" for m, v in members.items())
        is_signed = str(lowest != "0").lower()
        lines.append(
            f"template <> struct numeric_limits<{name}> {{ {functions} static constexpr bool "
            f"is_specialized = true, is_signed = {is_signed}, is_integer = {str(not is_real).lower()}; "
            f"static constexpr int digits = {digits}; }};"
        )
    return "\n".join(lines)


_LIMIT_PREFIXES = {
    "char": "CHAR",
    "signed char": "SCHAR",
    "unsigned char": "UCHAR",
    "short": "SHRT",
    "unsigned short": "USHRT",
    "int": "INT",
    "unsigned int": "UINT",
    "long": "LONG",
    "unsigned long": "ULONG",
    "long long": "LLONG",
    "unsigned long long": "ULLONG",
    "float": "FLT",
    "double": "DBL",
}
_STD["numeric_limits"] = _numeric_limits()


def implicit_definitions(
    source: SourceText, defined: Mapping[str, object], expressions: Sequence[str] = ()
) -> str:
    """Return the definitions of the names that a source uses as if nvcc compiled it; mostly "".

    Parameters
    ----------
    source : SourceText
        The source.
    defined : mapping
        Macros that are defined on the command line, by name; they keep their meaning.
    expressions : sequence of str
        Instances of templates that are compiled, such as `k<uint8_t>`, which use names, too.
    """
    tokens = [*source.tokens, *(token for each in expressions for token in tokenize(each))]
    used = dict.fromkeys(token.text for token in tokens if token.text in _NAMES)
    declared = _declared_names(source) if used else set()
    lines = [_NAMES[name] for name in used if name not in defined and name not in declared]
    if "std" in source.text:
        members = dict.fromkeys(_members_of_std(source))
        inside = "\n".join(_STD[name] for name in members)
        lines += [f"namespace std {{\n{inside}\n}}"] if inside else []
    return "\n".join([*lines, ""]) if lines else ""


# Functions of <cmath> with one and with two parameters that accept integers, and compute in double then.
_OF_AN_INTEGER = """
acos asin atan cos sin tan cosh sinh tanh acosh asinh atanh exp exp2 expm1 log log2 log10 log1p sqrt cbrt
erf erfc tgamma lgamma ceil floor trunc round nearbyint rint logb fabs
"""
_OF_TWO_INTEGERS = "atan2 pow hypot fmod remainder fdim fmax fmin copysign nextafter"
_AS_DOUBLE = "template <class T> struct gpulab_double {};\n" + "\n".join(
    f"template <> struct gpulab_double<{name}> {{ typedef double type; }};"
    for name in (*_LIMIT_PREFIXES, "bool")
)
_OVERLOAD_OF_ONE = """
template <class T> __host__ __device__ typename gpulab_double<T>::type NAME(T x) { return NAME((double)x); }
"""
_OVERLOAD_OF_TWO = """
template <class T, class U> __host__ __device__ typename gpulab_double<T>::type NAME(T x, U y) {
  return NAME((double)x, (typename gpulab_double<U>::type)y);
}
"""


def integer_overloads(names: Iterable[str]) -> str:
    """Return overloads for integers of those of these functions that <cmath> has them of: `sqrt(2)`.

    CUDA's own functions have overloads for float and double only, and neither is better for an integer.
    """
    texts = dict.fromkeys(_OF_AN_INTEGER.split(), _OVERLOAD_OF_ONE)
    texts |= dict.fromkeys(_OF_TWO_INTEGERS.split(), _OVERLOAD_OF_TWO)
    overloads = "".join(texts[name].replace("NAME", name) for name in names if name in texts)
    return _AS_DOUBLE + overloads if overloads else ""


def _declared_names(source: SourceText) -> set[str]:
    """Return the names in `_NAMES` that a source declares: macros, types, variables and enumerators."""
    declared: set[str] = set()
    statement = before = ""  # the first word of the statement, and the token before
    for token, after, second in zip_longest(source.tokens, source.tokens[1:], source.tokens[2:]):
        following = after.text if after else ""
        if token.text in _NAMES:
            is_assigned = following == "=" and not (second and second.text == "=")
            is_defined = statement in ("typedef", "enum") and following in (";", ",", "}", "=")
            if is_assigned or is_defined or before in _BEFORE_A_NAME or (before == "}" and following == ";"):
                declared.add(token.text)
        if token.text == ";":
            statement = ""
        elif token.text in ("typedef", "enum"):
            statement = token.text
        before = token.text
    return declared


def _members_of_std(source: SourceText) -> Iterator[str]:
    """Yield the names in `_STD` that a source uses; those of C need no `std::` if it uses the namespace."""
    tokens = source.tokens
    if re.search(r"\busing\s+namespace\s+std\s*;", source.text):
        yield from (token.text for token in tokens if token.text in ("clamp", "numeric_limits", "swap"))
    for index in range(len(tokens) - 2):
        if tokens[index].text == "std" and tokens[index + 1].text == "::" and tokens[index + 2].text in _STD:
            if index > 1 and tokens[index - 1].text == "::" and tokens[index - 2].kind == "identifier":
                continue  # cuda::std::min
            yield tokens[index + 2].text
