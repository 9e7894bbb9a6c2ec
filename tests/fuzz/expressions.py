"""Random C expressions over the variables and arrays of a scope; every index is in bounds by construction."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random

__all__ = ["TYPES", "Expressions", "Scope"]

# A letter for each type of expressions.
TYPES = {"i": "int", "u": "unsigned", "l": "long long", "v": "unsigned long long", "f": "float", "d": "double",
         "s": "short", "h": "unsigned short", "c": "unsigned char", "b": "signed char"}  # fmt: skip
INTEGER_TYPES = "iulv"
TYPE_FEATURES = {"doubles": "d", "longs": "lv", "narrow": "shcb"}  # features that stand for types
INTS = ("0", "1", "2", "3", "5", "7", "-1", "-2", "31", "32", "33", "100", "255", "-128", "65535", "0x7fffffff",
        "(-2147483647 - 1)", "1000003", "-77")  # fmt: skip
LONGS = ("0ll", "1ll", "-1ll", "3ll", "-5ll", "4294967296ll", "0x7fffffffffffffffll", "1234567890123ll")
FLOATS = ("0.0f", "1.0f", "-1.0f", "0.5f", "-2.5f", "3.25f", "1e-3f", "1e30f", "100.0f", "1e-40f")
SHARED_TYPES = {"shI": "i", "shU": "u", "shF": "f", "shL": "l", "shC": "c", "dyn": "i"}


@dataclass
class Scope:
    """The variables and statements that are allowed at a point of the program.

    Attributes
    ----------
    reads, writes : dict of str to list of str
        Readable and assignable variables by type letter.
    uniform : bool
        Either every thread of the block executes this point, or none does.
    together : bool
        Either every thread of a warp executes this point, or none does.
    kernel : bool
        The point is in the kernel and not in a device function.
    local : bool
        The local arrays `la`, `lf` and `lb` are available.
    shared : tuple of str
        Shared arrays that may be read: no thread writes them between the surrounding barriers.
    trips : int
        Upper bound for the iterations of a loop here, outer loops included.
    depth : int
        Nesting depth.
    breaks, continues : bool
        A `break` or a `continue` of the surrounding loop is allowed.
    returns : str
        Return type of the function; "void" in a kernel with early returns.
    functions : list of Function
        Device functions that may be called.
    """

    reads: dict[str, list[str]]
    writes: dict[str, list[str]]
    uniform: bool = False
    together: bool = False
    kernel: bool = True
    local: bool = True
    shared: tuple[str, ...] = ()
    trips: int = 16
    depth: int = 0
    breaks: bool = False
    continues: bool = False
    returns: str = ""
    functions: list[Function] = field(default_factory=list)

    def inside(self, **changes: object) -> Scope:
        return replace(self, depth=self.depth + 1, **changes)  # type: ignore[arg-type]


@dataclass
class Function:
    """A device function that a scope may call; types are letters of `TYPES`."""

    name: str
    returns_type: str
    parameter_types: str
    depth: bool = False  # the first argument is the depth of the recursion
    pointer: bool = False  # the first argument is a pointer to 8 ints


class Expressions:
    """Generator of a program's expressions.

    Parameters
    ----------
    threads : int
        Threads of a block.
    cells : int
        Elements of every shared array, a power of two.
    features : set of str
        Features that the program may use (see `generate.FEATURES`).
    """

    def __init__(self, rng: Random, threads: int, cells: int, features: set[str]) -> None:
        self.rng, self.threads, self.cells, self.features = rng, threads, cells, features
        self.calls = True
        # The types that the program does not use.
        self.left_out = "".join(types for name, types in TYPE_FEATURES.items() if name not in features)

    def pick(self, *options: str) -> str:
        return self.rng.choice(options)

    def choose_type(self, letters: str) -> str:
        """Return one of these types that the program uses."""
        return self.rng.choice([letter for letter in letters if letter not in self.left_out])

    def chance(self, p: float) -> bool:
        return self.rng.random() < p

    # -- by type --------------------------------------------------------------------------------

    def expression(self, ty: str, scope: Scope, depth: int = 2) -> str:
        if ty in "shcb":
            return f"({TYPES[ty]})({self.expression('i', scope, depth)})"
        if depth <= 0 or self.chance(0.15):
            return self.leaf(ty, scope)
        if ty in INTEGER_TYPES:
            return self.whole(ty, scope, depth - 1)
        return self.real(ty, scope, depth - 1)

    def leaf(self, ty: str, scope: Scope) -> str:
        rng = self.rng
        names = scope.reads.get(ty, [])
        if names and self.chance(0.6):
            return rng.choice(names)
        roll = rng.random()
        if ty == "i":
            if roll < 0.3:
                return rng.choice(INTS)
            if roll < 0.6 and scope.kernel:
                return self.load("in_i", scope)
            if scope.local and roll < 0.7:
                return f"la[{self.index(scope)} & 7]" if self.chance(0.7) else f"lb[{self.index(scope)} & 15]"
            if scope.shared and roll < 0.9:
                return self.shared_read(scope)
            small = [n for t in "shcb" for n in scope.reads.get(t, [])]
            return rng.choice([*small, *names, "n", "m"] if scope.kernel else [*names, "3"])
        if ty == "u":
            if roll < 0.5 or not scope.kernel:
                return (
                    f"{rng.choice(INTS[:5])}u" if self.chance(0.5) else f"(unsigned)({self.leaf('i', scope)})"
                )
            return self.pick("w", "blockIdx.x", "gridDim.x", "blockDim.x", *names)
        if ty == "l":
            if roll < 0.4 or not scope.kernel:
                return rng.choice(LONGS)
            return self.load("in_l", scope)
        if ty == "v":
            return f"(unsigned long long)({self.leaf(self.pick('l', 'i', 'u'), scope)})"
        if ty == "f":
            if roll < 0.3 or not scope.kernel:
                return rng.choice(FLOATS)
            if "shF" in scope.shared and roll < 0.5:
                return f"shF[{self.index(scope)} & {self.cells - 1}]"
            if scope.local and roll < 0.4:
                return f"lf[{self.index(scope)} & 3]"
            return self.load("in_f", scope) if roll < 0.9 else "q"
        if roll < 0.3 or not scope.kernel:
            return rng.choice(FLOATS)[:-1]
        return self.load("in_d", scope)

    def whole(self, ty: str, scope: Scope, depth: int) -> str:
        rng = self.rng
        a = self.expression(ty, scope, depth)
        other = self.choose_type(INTEGER_TYPES) if self.chance(0.2) else ty
        roll = rng.random()
        if self.calls and scope.functions and roll < 0.06:
            return f"({TYPES[ty]})({self.call(scope, depth)})"
        if roll < 0.45:
            b = self.expression(other, scope, depth)
            return f"({a} {self.pick('+', '-', '*', '+', '-', '&', '|', '^')} {b})"
        if roll < 0.55:
            width = 63 if ty in "lv" else 31
            count = self.expression("i", scope, 0)
            if self.chance(0.4):
                count = str(rng.randrange(width))
            elif self.chance(0.85):
                count = f"({count} & {width})"
            return f"({a} {self.pick('<<', '>>')} {count})"
        if roll < 0.65:
            b = self.expression(ty, scope, 0)
            by = self.pick(f"({b} | 1)", f"(({b} & 15) + 1)", str(rng.choice((2, 3, 7, 10, 16, 1000))))
            return f"({a} {self.pick('/', '%')} {by})"
        if roll < 0.73:
            return f"({self.condition(scope, 1)} ? {a} : {self.expression(ty, scope, depth)})"
        if roll < 0.78:
            return f"({self.pick('-', '~', '!')}({a}))"
        if roll < 0.84:
            narrow = self.pick("short", "unsigned char", "signed char", "unsigned short", "int", "unsigned")
            return f"({narrow})({a})"
        if roll < 0.90:
            return f"({TYPES[ty]})({self.expression(self.choose_type('fdf'), scope, depth)})"
        return self.intrinsic(ty, a, scope, depth)

    def intrinsic(self, ty: str, a: str, scope: Scope, depth: int) -> str:
        b = self.expression(ty, scope, depth)
        if ty in "lv":
            return self.pick(
                f"{'ll' if ty == 'l' else 'ull'}{self.pick('min', 'max')}({a}, {b})", f"__popcll({a})", f"__clzll({a})",
                f"(long long)__brevll({a})", f"__ffsll((long long)({a}))", f"__mul64hi({a}, {b})",
                f"__umul64hi({a}, {b})",
            )  # fmt: skip
        u, w = (f"(unsigned)({x})" for x in (a, b))
        return self.pick(
            f"{self.pick('min', 'max')}((int)({a}), (int)({b}))", f"{self.pick('min', 'max')}({u}, {w})",
            f"abs((int)({a}))", f"__popc({u})", f"__clz((int)({a}))", f"(int)__brev({u})", f"__ffs((int)({a}))",
            f"__mulhi((int)({a}), (int)({b}))", f"__umulhi({u}, {w})",
            f"__byte_perm({u}, {w}, {self.expression('u', scope, 0)})",
            f"__funnelshift_{self.pick('l', 'r', 'lc', 'rc')}({u}, {w}, {self.expression('u', scope, 0)})",
            f"__sad((int)({a}), (int)({b}), {self.expression('u', scope, 0)})",
            f"__usad({u}, {w}, {self.expression('u', scope, 0)})",
        )  # fmt: skip

    def real(self, ty: str, scope: Scope, depth: int) -> str:
        a, b = self.expression(ty, scope, depth), self.expression(ty, scope, depth)
        end = "f" if ty == "f" else ""
        roll = self.rng.random()
        if roll < 0.45:
            return f"({a} {self.pick('+', '-', '*')} {b})"
        if roll < 0.55:
            return f"fma{end}({a}, {b}, {self.expression(ty, scope, 0)})"
        if roll < 0.67:
            return f"{self.pick('fmin', 'fmax')}{end}({a}, {b})"
        if roll < 0.72:
            return f"({a} / {b})"
        if roll < 0.80:
            return f"({self.condition(scope, 1)} ? {a} : {b})"
        if roll < 0.92:
            other = self.choose_type("iulvd" if ty == "f" else "iulvf")
            return f"({TYPES[ty]})({self.expression(other, scope, depth)})"
        if roll < 0.94:
            return f"copysign{end}({a}, ({TYPES[ty]})({self.expression('i', scope, 0)}))"
        if roll < 0.96 and ty == "f" and "directed" in self.features:
            return f"{self.pick('__fadd', '__fmul')}_{self.pick('rz', 'ru', 'rd')}({a}, {b})"
        return self.pick(
            f"sqrt{end}(fabs{end}({a}))", f"fabs{end}({a})", f"floor{end}({a})", f"ceil{end}({a})",
            f"rint{end}({a})", f"trunc{end}({a})", f"(-({a}))",
        )  # fmt: skip

    # -- conditions -----------------------------------------------------------------------------

    def condition(self, scope: Scope, depth: int = 2) -> str:
        roll = self.rng.random()
        if depth > 0 and roll < 0.2:
            first, second = self.condition(scope, depth - 1), self.condition(scope, depth - 1)
            return f"({first} {self.pick('&&', '||')} {second})"
        if roll < 0.25:
            return f"!({self.condition(scope, 0)})"
        if roll < 0.5 and scope.kernel:
            return self.by_thread()
        ty = self.choose_type("iiulvffd")
        second = self.pick("i", "u", ty) if ty in "iu" else ty
        sign = self.pick("<", "<=", ">", ">=", "==", "!=")
        if roll < 0.6:
            return f"({self.expression('i', scope, 1)} & {self.pick('1', '2', '4', '3', '8')})"
        return f"({self.expression(ty, scope, 1)} {sign} {self.expression(second, scope, 1)})"

    def by_thread(self) -> str:
        """Return a condition that splits a block as those of real kernels do."""
        k = self.rng.randrange(self.threads + 2)
        r = self.rng.randrange(2, 6)
        return self.pick(
            f"(t < {k})", f"(t >= {k})", f"(t == {k})", "(t & 1)", f"(t % {r} == {r - 2})", "((t >> 5) & 1)",
            "((t >> 4) & 1)", "(tx < ty)", f"(tx != {self.rng.randrange(4)})", "(gid & 2)", "(blockIdx.x == 1)",
            f"(unsigned)(tx - {r}) < {r}u", "(t / 32 == 1)", "(n > 20)", "((lane & 3) == 1)", "(tx + 1 < blockDim.x)",
        )  # fmt: skip

    def uniform(self, depth: int = 1) -> str:
        """Return an int expression with the same value in every thread of a block."""
        if depth <= 0:
            u = self.pick("a0", "a1", "blockIdx.x")
            return self.pick(
                "a0", "a1", "n", "m", "(int)blockIdx.x", str(self.rng.randrange(9)), f"in_i[{u} & 255]"
            )
        a, b = self.uniform(depth - 1), self.uniform(depth - 1)
        return self.pick(
            f"({a} {self.pick('+', '-', '*', '^', '&')} {b})", f"(({a}) % 7)", f"({a} > {b} ? {a} : 3)"
        )

    def uniform_condition(self) -> str:
        return self.pick(
            f"({self.uniform()} & {self.pick('1', '2', '3')})", f"({self.uniform()} < {self.uniform()})",
            f"(blockIdx.x == {self.rng.randrange(3)})", f"(n > {self.rng.randrange(40)})", "(m < 0)",
        )  # fmt: skip

    # -- memory ---------------------------------------------------------------------------------

    def index(self, scope: Scope) -> str:
        """Return an int expression for an index that its user masks; it is often affine in the thread."""
        if not scope.kernel:
            return f"({self.expression('i', scope, 1)})"
        name = self.pick("t", "t", "tx", "ty", "gid", "lane", "rid")
        c, k = self.rng.randrange(-9, 40), self.rng.choice((2, 3, 4, 5, 8, 16, 17, -1, -2, 255, 1 << 20))
        names = scope.reads.get("i", ["t"])
        v = self.rng.choice(names)
        return self.pick(
            name, f"({name} + {c})", f"({name} * {k})", f"({name} * {k} + {c})", f"({c} - {name})", f"({name} / 2)",
            f"({name} % 7)", "(tx * ty)", "(ty * blockDim.x + tx)", "(tx * blockDim.y + ty)", f"({name} >> 1)",
            f"({name} + {v})", f"({v} * {name})", f"({name} | 1)", f"({name} ^ {abs(c)})", v, f"(a0 + {name})",
            f"({name} + a1 * {k})", f"({name} < {abs(c)} ? {name} : {c})", f"({name} * n)", f"(unsigned)({name} - {c})",
            f"(long long)({name}) * {k}", f"(size_t)({name}) + {abs(c)}", self.expression("i", scope, 1),
            f"(unsigned short)({name} - 3)", f"(unsigned char)({name} * {k})", f"({name} + {c}u)",
        )  # fmt: skip

    def load(self, array: str, scope: Scope) -> str:
        """Return a read of one of the constant arrays."""
        last = 255 if array in ("in_i", "in_f") else 127
        index = self.index(scope)
        r = self.rng.randrange(1, 6)
        if scope.kernel and self.threads + r <= last and self.chance(0.35):
            return self.pick(
                f"{array}[t]", f"{array}[t + {r}]", f"{array}[{last} - t]", f"{array}[t / {r}]", f"{array}[t % {r}]",
                f"(t >= {r} ? {array}[t - {r}] : {self.rng.randrange(9)})", f"{array}[lane * 3 % {last}]",
                f"((unsigned)(t - {r}) < {last}u ? {array}[t - {r}] : {array}[{r}])",
            )  # fmt: skip
        if self.chance(0.25):
            if array == "in_i":
                return self.pick(
                    f"((const short*)in_i)[{index} & 511]", f"((const unsigned char*)in_i)[{index} & 1023]",
                    f"((const int2*)in_i)[{index} & 127].y", f"((const signed char*)in_i)[{index} & 1023]",
                    f"__ldg(in_i + ({index} & 255))", f"((const int4*)in_i)[{index} & 63].z",
                    f"*(const volatile int*)(in_i + ({index} & 255))",
                )  # fmt: skip
            if array == "in_f":
                return f"((const float{self.pick('2', '4')}*)in_f)[{index} & 63].{self.pick('x', 'y')}"
        return (
            f"{array}[{index} & {last}]"
            if self.chance(0.7)
            else f"{array}[(unsigned)({index}) % {last + 1}u]"
        )

    def shared_read(self, scope: Scope) -> str:
        name = self.rng.choice(scope.shared)
        if name == "tile":
            return f"tile[(unsigned)({self.index(scope)}) % BY][(unsigned)({self.index(scope)}) % BX]"
        index = self.index(scope)
        if self.cells > self.threads and self.chance(0.2):
            return f"(int){name}[t + 1 & {self.cells - 1}]"
        return f"(int){name}[{index} & {self.cells - 1}]"

    # -- calls ----------------------------------------------------------------------------------

    def call(self, scope: Scope, depth: int) -> str:
        function = self.rng.choice(scope.functions)
        arguments = [self.expression(t, scope, depth) for t in function.parameter_types]
        if function.depth:
            arguments[0] = f"{arguments[0]} & 3"
        if function.pointer:
            arguments.insert(0, self.pointer(scope))
        return f"{function.name}({', '.join(arguments)})"

    def pointer(self, scope: Scope) -> str:
        """Return a pointer to eight ints in global, local or shared memory."""
        options = [f"in_i + ({self.index(scope)} & 127)"] if scope.kernel else ["0"]
        if scope.local:
            options += ["la", "la"]
        if "shI" in scope.shared and self.cells >= 8:
            options.append(f"shI + ({self.index(scope)} & {self.cells - 8})")
        if len(options) > 1 and self.chance(0.4):
            first, second = self.rng.sample(options, 2)
            return f"({self.condition(scope, 0)} ? (const int*)({first}) : (const int*)({second}))"
        return self.rng.choice(options)
