"""Generator of random CUDA C programs with one launch each; a seed determines the program.

Every program has one kernel `k` with the parameters of `case.make_arguments`. By construction all its
accesses are in bounds and no two threads race, unless a fault is planted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

from tests.fuzz.case import Case
from tests.fuzz.expressions import TYPES, Expressions, Function, Scope
from tests.fuzz.statements import Statements
from tests.fuzz.tree import Hole, Statement, bodies, lines_of, planted_line

__all__ = ["Program", "generate"]

FEATURES = ("shared", "votes", "shuffles", "loops", "switch", "goto", "atomics", "vectors", "returns", "functions",
            "dynamic", "match", "redux", "directed", "waiting", "local", "doubles", "longs", "narrow")  # fmt: skip
# Number of statements of a program and its weight. Many short programs find more than a few long ones.
LENGTHS = {3: 5, 6: 6, 10: 5, 16: 2, 28: 1, 50: 0.15}
# Block shapes and the largest number of blocks for each.
BLOCKS = {
    (32, 1, 1): 4, (64, 1, 1): 4, (128, 1, 1): 2, (16, 16, 1): 2, (8, 8, 1): 4, (24, 5, 1): 3, (1, 32, 1): 4,
    (7, 1, 1): 6, (33, 1, 1): 3, (100, 1, 1): 2, (8, 4, 4): 2, (16, 2, 1): 4, (16, 4, 1): 3, (1, 1, 40): 3,
    (2, 16, 1): 4, (3, 3, 3): 4, (32, 4, 1): 2, (48, 1, 1): 3, (1, 1, 1): 6, (5, 1, 9): 3, (64, 3, 1): 2,
    (256, 1, 1): 2, (8, 3, 1): 4, (1, 7, 2): 4, (31, 2, 1): 3, (40, 2, 1): 3,
}  # fmt: skip
SIGNATURE = """extern "C" __global__ void k(const int*{r} in_i, const float*{r} in_f, const long long*{r} in_l, \
const double*{r} in_d, int*{r} out_i, float*{r} out_f, long long*{r} out_l, double*{r} out_d, \
unsigned char*{r} out_b, unsigned*{r} acc, unsigned long long*{r} accl, int n, int m, unsigned w, float q)"""
# Index of cell k of a thread in an array with `c` cells for each of TOTAL threads.
LAYOUTS = ("gid * {c} + ({k})", "gid * {c} + ({k})", "({k}) * TOTAL + gid", "(TOTAL - 1 - gid) * {c} + ({k})", "rid + ({k}) * TOTAL",
           "(gid + 5) % TOTAL * {c} + ({k})", "gid * {c} + ({last} - ({k}))")  # fmt: skip
# A function that contains barriers; either every thread of the block calls it, or none does.
EXCHANGE_FUNCTION = """__device__ {inline} int shared_exchange(int* s, int t, int by, int value) {{
    s[t] = value;
    {barrier}
    int got = s[(t + by) % {threads}] * 3 + s[{threads} - 1 - t];
    __syncthreads();
    return got;
}}"""
VARIABLES = {"i": "i0 i1 i2 i3", "u": "u0 u1", "l": "l0 l1", "v": "v0", "f": "f0 f1", "d": "d0 d1", "s": "s0",
             "h": "h0", "c": "c0", "b": "b0"}  # fmt: skip


@dataclass
class Program:
    """A program as a tree, which can be reduced, and its launch."""

    head: list[str]
    body: list[Statement]
    launch: Case

    def case(self) -> Case:
        """Return the launch with the program's text and the line of the planted fault."""
        first = "\n".join(self.head)
        text = first + "\n" + "\n".join(lines_of(self.body)) + "\n"
        line = planted_line(self.body)
        return replace(self.launch, source=text, planted=line and line + first.count("\n") + 1)


def generate(seed: int, faults: bool = False) -> Program:
    """Return the program of a seed; with `faults`, it contains one invalid access, barrier or trap."""
    return _Generator(seed, faults).program()


class _Generator:
    def __init__(self, seed: int, faults: bool) -> None:
        self.seed, self.faults = seed, faults
        self.rng = rng = Random(f"{seed}{' faults' * faults}")
        self.block = rng.choice(list(BLOCKS))
        x, y, z = self.block
        self.threads = x * y * z
        count = rng.randint(1, BLOCKS[self.block])
        self.grid = rng.choice([(count, 1, 1), (count, 1, 1), (1, count, 1), (1, 1, count)])
        self.total = self.threads * count
        self.cells = 32
        while self.cells < self.threads:
            self.cells *= 2
        # Programs with few features find errors that many features would hide, and vice versa.
        rate = rng.choice((0.4, 0.7, 1.0))
        self.features = {f for f in FEATURES if rng.random() < rate}
        self.arch = rng.choice((75, 80, 90))
        if self.arch < 80:
            self.features.discard("redux")
        self.independent = rng.random() > 0.1
        if not self.independent:
            self.features.discard("waiting")
        # A shuffle needs every lane that it reads from; with early returns some may have exited.
        self.features.discard(rng.choice(("returns", "shuffles")))
        # With early returns it would depend on the schedule which threads reach the wrong barrier.
        self.wrong_barrier = faults and rng.random() < 0.2
        if self.wrong_barrier:
            self.features.discard("returns")
        self.e = Expressions(rng, self.threads, self.cells, self.features)
        self.s = Statements(
            rng,
            self.e,
            rng.choices(list(LENGTHS), LENGTHS.values())[0],
            self.features,
            self.threads % 32 == 0,
        )

    def program(self) -> Program:
        rng = self.rng
        functions = self.functions() if "functions" in self.features else []
        body = [*functions[1], self.kernel(functions[0])] if functions else [self.kernel([])]
        options = []
        if rng.random() < 0.15:
            options.append("--ftz=true")
        if rng.random() < 0.15:
            options.append("--fmad=false")
        launch = Case(
            "", self.grid, self.block, self.arch, tuple(options),
            4 * self.cells if "dynamic" in self.features else 0, self.independent, 0, self.seed, self.seed,
        )  # fmt: skip
        return Program(self.head(), body, launch)

    def head(self) -> list[str]:
        x, y, _ = self.block
        lines = [f"#define TOTAL {self.total}", f"#define BX {x}", f"#define BY {y}"]
        for name, cells in (("I", 4), ("F", 4), ("L", 2), ("D", 2), ("B", 8)):
            layout = self.rng.choice(LAYOUTS)
            place = layout.format(c=cells, k="k", last=cells - 1)
            lines.append(f"#define OUT_{name}(k) out_{name.lower()}[{place}]")
            if name in "IF":
                together = layout == LAYOUTS[0]
                lines.append(f"#define OUT_{name}_VECTOR(...) {'__VA_ARGS__' if together else ''}")
        return lines

    # -- device functions -----------------------------------------------------------------------

    def functions(self) -> tuple[list[Function], list[Statement]]:
        functions: list[Function] = []
        definitions = []
        for number in range(self.rng.randint(1, 3)):
            function, text = self.rng.choice(
                [self.plain_function, self.plain_function, self.recursive_function, self.pointer_function]
            )(f"g{number}", [f for f in functions if not f.pointer])
            functions.append(function)
            definitions.append(text)
        if self.rng.random() < 0.3:
            function, text = self.function_table("g9")
            functions.append(function)
            definitions.append(text)
        if self.rng.random() < 0.4:
            function, text = self.struct_function("g8")
            functions.append(function)
            definitions.append(text)
        barrier = self.rng.choice(
            ("__syncthreads();", "value += __syncthreads_count(value & 1);", "if (by >= 0) __syncthreads();")
        )
        shared_exchange = EXCHANGE_FUNCTION.format(
            inline=self.rng.choice(("", "__noinline__")), barrier=barrier, threads=self.threads
        )
        return functions, [*definitions, Statement([shared_exchange])]

    def inline(self) -> str:
        return self.rng.choice(
            ("__device__", "__device__ __noinline__", "__device__ __noinline__", "__device__ __forceinline__")
        )

    def function_scope(
        self, parameter_types: str, returns_type: str, functions: list[Function]
    ) -> tuple[Scope, str]:
        """Return a scope with the parameters and some variables, and the declarations of the variables."""
        names: dict[str, list[str]] = {t: [] for t in "iulvfd"}
        for number, ty in enumerate(parameter_types):
            names[ty].append(f"p{number}")
        for ty, name in (("i", "x0"), ("i", "x1"), ("u", "y0"), ("f", "z0")):
            names[ty].append(name)
        scope = Scope(
            names,
            names,
            kernel=False,
            local=False,
            trips=4,
            depth=2,
            returns=returns_type,
            functions=functions,
        )
        return scope, "int x0 = 1, x1 = 2; unsigned y0 = 3; float z0 = 1.5f;\n"

    def parameters(self, parameter_types: str) -> str:
        return ", ".join(f"{TYPES[t]} p{n}" for n, t in enumerate(parameter_types))

    def plain_function(self, name: str, functions: list[Function]) -> tuple[Function, Statement]:
        parameter_types = "".join(self.rng.choice("iiufld") for _ in range(self.rng.randint(1, 4)))
        returns_type = self.rng.choice("iiulfd")
        scope, variables = self.function_scope(
            parameter_types, returns_type, functions if self.rng.random() < 0.5 else []
        )
        parts = [
            f"{self.inline()} {TYPES[returns_type]} {name}({self.parameters(parameter_types)}) {{\n    {variables}"
        ]
        return Function(name, returns_type, parameter_types), Statement(
            [*parts, self.s.body(scope, 4), "return ", self.s.hole(returns_type, scope), ";\n}"]
        )

    def recursive_function(self, name: str, functions: list[Function]) -> tuple[Function, Statement]:
        """Return a function that calls itself once or twice, at most three levels deep."""
        parameter_types = "i" + "".join(self.rng.choice("iuf") for _ in range(self.rng.randint(0, 2)))
        returns_type = self.rng.choice("iif")
        scope, variables = self.function_scope(parameter_types, returns_type, [])
        quiet = replace(scope, writes={**scope.writes, "i": [n for n in scope.writes["i"] if n != "p0"]})
        rest = [self.e.expression(t, scope, 1) for t in parameter_types[1:]]
        again = f"{name}({', '.join(['p0 - 1', *rest])})"
        if self.rng.random() < 0.3:
            again += f" - {name}({', '.join(['p0 - 2', *rest])})"
        return Function(name, returns_type, parameter_types, depth=True), Statement([
            f"__device__ __noinline__ {TYPES[returns_type]} {name}({self.parameters(parameter_types)}) {{\n    {variables}",
            "if (p0 <= 0) return ", self.s.hole(returns_type, scope), ";\n", self.s.body(quiet, 3),
            f"{TYPES[returns_type]} below = {again};\n", self.s.body(scope, 2), "return below + ", self.s.hole(returns_type, scope), ";\n}",
        ])  # fmt: skip

    def pointer_function(self, name: str, functions: list[Function]) -> tuple[Function, Statement]:
        """Return a function that reads eight ints through a pointer to any state space."""
        step, count = self.rng.choice((1, 3, 5)), self.rng.randint(1, 4)
        return Function(name, "i", "i", pointer=True), Statement([
            f"{self.inline()} int {name}(const int* p, int from) {{\n    int sum = from;\n    for (int j = 0; j < {count}; ++j) "
            f"sum = sum * 3 + p[(from + j * {step}) & 7];\n    return sum;\n}}",
        ])  # fmt: skip

    def struct_function(self, name: str) -> tuple[Function, Statement]:
        """Return a function that passes and returns a structure by value."""
        scope, _ = self.function_scope("ifl", "i", [])
        pure = replace(scope, reads={"i": ["s.a", "s.c", "s.e"], "f": ["s.b"], "l": ["s.d"]}, writes={})
        return Function(name, "i", "ifl"), Statement([
            f"struct S{name} {{ int a; float b; short c; long long d; signed char e; }};\n"
            f"__device__ {self.rng.choice(('', '__noinline__'))} S{name} {name}_of(S{name} s) {{ S{name} r = s; r.a = ",
            self.s.hole("i", pure), "; r.b = ", self.s.hole("f", pure), "; r.c = ", self.s.hole("i", pure), "; r.d = ",
            self.s.hole("l", pure), f"; if (s.a & 1) r.e = 7; return r; }}\n"
            f"__device__ __forceinline__ int {name}(int a, float b, long long d) {{ S{name} s = {{ a, b, (short)d, d, (signed char)a }};\n"
            f"    S{name} r = {name}_of(s); return r.a + r.c * 5 + (int)r.d + r.e + (r.b > 1.0f); }}",
        ])  # fmt: skip

    def function_table(self, name: str) -> tuple[Function, Statement]:
        scope, _ = self.function_scope("ii", "i", [])
        pure = replace(scope, reads={"i": ["p0", "p1"]}, writes={})
        bodies = [self.s.hole("i", pure) for _ in range(3)]
        parts: list[str | Hole | list[Statement]] = []
        for number, hole in enumerate(bodies):
            parts += [
                f"__device__ __noinline__ int {name}_{number}(int p0, int p1) {{ return ",
                hole,
                "; }\n",
            ]
        chosen = ", ".join(f"{name}_{n}" for n in range(3))
        parts.append(
            f"__device__ int (*const {name}_table[3])(int, int) = {{ {chosen} }};\n"
            f"__device__ __forceinline__ int {name}(int a, int b) {{ return {name}_table[(unsigned)(a ^ b) % 3u](a, b); }}"
        )
        return Function(name, "i", "ii"), Statement(parts)

    # -- the kernel -----------------------------------------------------------------------------

    def kernel(self, functions: list[Function]) -> Statement:
        rng = self.rng
        writes = {t: names.split() for t, names in VARIABLES.items() if t not in self.e.left_out}
        reads = {t: list(names) for t, names in writes.items()}
        reads["i"] += ["a0", "a1", "t", "tx", "ty", "gid", "lane"]
        trips = self.s.trips = max(2, min(24, 4000 // self.total))
        scope = Scope(reads, writes, uniform=True, together=True, trips=trips, functions=functions,
                      local="local" in self.features, returns="void" if "returns" in self.features else "")  # fmt: skip
        body = []
        while self.s.left > 0:
            body += self.s.statement(scope)
        if self.faults:
            self.plant(body)
        signature = SIGNATURE.format(r=" __restrict__" if rng.random() < 0.3 else "")
        return Statement(
            [f"{signature}\n{{\n", self.declarations(scope), body, self.endings(scope), "}"], needed=True
        )

    def declarations(self, scope: Scope) -> list[Statement]:
        rng = self.rng
        word = rng.choice(("int", "int", "unsigned"))
        by_constant = rng.random() < 0.4
        x, y, z = self.block
        sizes = (f"{x}", f"{y}") if by_constant else ("blockDim.x", "blockDim.y")
        count = str(self.threads) if by_constant else "blockDim.x * blockDim.y * blockDim.z"
        lines = [
            f"const {word} tx = threadIdx.x, ty = threadIdx.y, tz = threadIdx.z;",
            f"const {word} t = (tz * {sizes[1]} + ty) * {sizes[0]} + tx;",
            f"const {word} gid = ((blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x) * ({count}) + t;",
            "const int lane = t & 31;",
            f"const {word} rid = ((blockIdx.z * blockDim.z + tz) * (gridDim.y * blockDim.y) + blockIdx.y * blockDim.y + ty) "
            "* (gridDim.x * blockDim.x) + blockIdx.x * blockDim.x + tx;",
            *(f"__shared__ {TYPES[t]} sh{n}[{self.cells}];" for n, t in zip("IUFLC", "iuflc", strict=True)),
            f"__shared__ int tile[BY][BX{rng.choice(('', ' + 1'))}];",
            "int a0 = n & 7, a1 = m + blockIdx.x;",
            "int la[8]; float lf[4]; unsigned char lb[16];",
            "volatile unsigned* const acc_lock = acc + 113;",
        ]
        if "dynamic" in self.features:
            lines.append("extern __shared__ int dyn[];")
        found = [Statement(["\n".join(lines)], needed=True)]
        for ty, names in VARIABLES.items():
            for name in names.split():
                if ty not in scope.writes:
                    found.append(Statement([f"{TYPES[ty]} {name} = 0;"], needed=True))
                    continue
                start = replace(scope, reads={"i": ["t", "gid", "lane"]}, local=False, functions=[])
                found.append(
                    Statement(
                        [f"{TYPES[ty]} {name} = ", self.s.hole(ty, start, rng.choice((0, 0, 1))), ";"],
                        needed=True,
                    )
                )
        if not scope.local:
            return found
        step = rng.choice(("i0", "i0 * z", "z", "in_i[(t + z) & 255]"))
        found.append(
            Statement(
                [
                    f"for (int z = 0; z < 8; ++z) {{ la[z] = {step}; lf[z & 3] = z * 0.5f; lb[z] = z; lb[z + 8] = t + z; }}"
                ],
                needed=True,
            )
        )
        return found

    def endings(self, scope: Scope) -> list[Statement]:
        """Return statements that store most of the variables in the output arrays."""
        lines = [
            "OUT_I(0) = i0; OUT_I(1) = i1 + s0;", "OUT_I(2) += i2 * 5;", "OUT_I(3) ^= i3 + (int)u0 * 3 + (int)u1;",
            "OUT_F(0) = f0;", "OUT_F(1) = f1;", "OUT_B(0) = c0 + b0; OUT_B(1) = h0 >> 3;", "OUT_I(0) += a0 * a1;",
        ]  # fmt: skip
        if scope.local:
            lines += ["OUT_I(2) = la[3] * 5 + lb[9];", "OUT_F(0) = lf[2];"]
        if scope.writes.get("l"):
            lines += ["OUT_L(0) = l0 + (long long)v0;", "OUT_L(1) ^= l1;"]
        if scope.writes.get("d"):
            lines += ["OUT_D(0) = d0;", "OUT_D(1) = d1;"]
        return [Statement([line]) for line in lines if self.rng.random() < 0.7]

    # -- faults ---------------------------------------------------------------------------------

    def plant(self, body: list[Statement]) -> None:
        rng = self.rng
        who = rng.choice((f"t == {rng.randrange(self.threads)}", f"gid >= {rng.randrange(self.total)}", "1", self.e.by_thread(),
                          "i0 > 5", "(t & 7) == 3"))  # fmt: skip
        where = rng.choice(list(bodies(body)))
        if self.wrong_barrier:
            where = body
            k = rng.randrange(1, self.threads + 1)
            test = rng.choice((f"t < {k}", "t & 1", "in_i[t & 255] > 3", f"t / 32 == {rng.randrange(3)}"))
            line = f"if ({test}) __syncthreads();"
            body.append(Statement(["__syncthreads();"], needed=True))
            where.insert(rng.randrange(len(where)), Statement([line], planted=True, needed=True))
            return
        far = rng.choice(("0", "i1 & 1023", "t", "(i0 & 15) * 64", "1 << 20", "in_i[t & 255] & 4095"))
        total = self.total
        line = rng.choice((
            f"i0 += *(const volatile int*)(in_i + 256 + ({far}));",
            f"i0 += *(const volatile int*)(in_i - 1 - ({far}));",
            f"i0 += ((const volatile int*)in_i)[(unsigned)(t - {self.threads})];",
            f"f0 += ((const volatile float*)in_f)[256 + ({far})];",
            "l0 += ((const volatile long long*)in_l)[(long long)(i1 | 1) << 33];",
            f"((volatile int*)out_i)[{total * 4} + ({far})] = i1;",
            f"((volatile int*)out_i)[-1 - ({far})] = i1;",
            f"((volatile unsigned char*)out_b)[{total * 8} + ({far})] = i1;",
            f"atomicAdd(acc + 128 + ({far}), 1u);",
            f"i1 += (int)atomicMax(acc - 1 - ({far}), 7u);",
            f"i0 += *(const volatile int*)((const char*)in_i + ((t & 63) * 4 + {rng.randint(1, 3)}));",
            f"d0 += *(const volatile double*)((const char*)in_d + {rng.randint(1, 7)});",
            f"*(volatile short*)((char*)out_i + {rng.choice((1, 3))}) = 5;",
            f"{{ volatile float4* z4 = (volatile float4*)((float*)in_f + {rng.randint(1, 3)}); f0 += z4->x + z4->w; }}",
            f"((volatile int*)shI)[{1 << 18} + ({far})] = i1; i0 += shI[3];",
            f"i0 += ((volatile int*)shI)[-{1 << 18} - ({far})];",
            f"atomicAdd((int*)shI + {1 << 18} + ({far}), 3);",
            f"i0 += *(volatile int*)((char*)shI + {rng.randint(1, 3)} + (t & 4));",
            f"i0 += ((volatile int*)la)[{1 << 20} + (i1 & 1023)];",
            "((volatile int*)la)[in_l[0] & 0 | 1 << 22] = 3;",
            "i0 += *(volatile int*)(size_t)(in_l[0] & 0);",
            "*(volatile int*)(size_t)((in_l[1] & 255) * 4) = 4;",
            "i0 += *(volatile int*)((size_t)in_i ^ (1ull << 60));",
            "__trap();",
            "assert(n < -5);",
        ))  # fmt: skip
        spot = rng.randrange(len(where) + 1)
        where.insert(spot, Statement([f"if ({who}) {{ {line} }}"], planted=True, needed=True))
