"""Generator of random statements; threads share data only across barriers that the whole block executes."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.fuzz.expressions import SHARED_TYPES, TYPES, Expressions, Scope
from tests.fuzz.tree import Hole, Part, Statement

__all__ = ["Statements"]

FULL = "0xffffffffu"


class Statements:
    """Generator of a program's statements, about `left` of them.

    Parameters
    ----------
    left : int
        Number of statements to generate.
    features : set of str
        Features that the program may use (see `generate.FEATURES`).
    full_warps : bool
        The block size is a multiple of 32.
    """

    def __init__(
        self, rng: Random, expressions: Expressions, left: int, features: set[str], full_warps: bool
    ) -> None:
        self.rng, self.e, self.left, self.features, self.full_warps = (
            rng,
            expressions,
            left,
            features,
            full_warps,
        )
        self.labels = 0
        self.arrays_in_use: set[str] = set()
        self.trips = 0  # of the kernel's scope; fewer in its loops
        # A thread must not exit before a barrier that others reach.
        self.has_barrier = self.exits = False

    def hole(self, ty: str, scope: Scope, depth: int = 2) -> Hole:
        real = ty in "fd"
        return Hole(
            self.e.expression(ty, scope, depth),
            ("0.0f", "1.0f") if real else ("0", "1", "t") if scope.kernel else ("0", "1"),
        )

    def test(self, scope: Scope) -> Hole:
        return Hole(self.e.condition(scope), ("0", "1"))

    def uniform_test(self) -> Hole:
        return Hole(self.e.uniform_condition(), ("0", "1"))

    # -- bodies ---------------------------------------------------------------------------------

    def body(self, scope: Scope, most: int = 4) -> list[Statement]:
        count = self.rng.randint(1, most)
        return [s for _ in range(count) for s in self.statement(scope)]

    def statement(self, scope: Scope) -> list[Statement]:
        self.left -= 1
        simple: list[tuple[float, Callable[[Scope], list[Statement]]]] = [(6, self.assign)]
        if scope.local:
            simple.append((1, self.store_local))
        if scope.kernel:
            simple.append((1.5, self.store_out))
            if "vectors" in self.features:
                simple.append((0.7, self.load_vector))
            if "waiting" in self.features:
                simple.append((0.5, self.lock))
            if "atomics" in self.features:
                simple.append((1, self.accumulate))
        if scope.breaks or scope.continues:
            simple.append((1.5, self.leave_loop))
        if scope.returns and (not scope.kernel or self.may_exit(scope)):
            simple.append((0.4 if scope.kernel else 0.8, self.leave_function))
        if scope.kernel and scope.uniform:
            if "shared" in self.features and not self.exits:
                simple += [(3, self.exchange), (1, self.histogram), (1, self.reduction)]
                if "functions" in self.features:
                    simple.append((0.5, self.exchange_through_function))
            if "waiting" in self.features and self.e.threads <= 64 and "returns" not in self.features:
                simple.append((0.5, self.one_by_one))
            if "votes" in self.features and not self.exits:
                simple.append((1, self.block_vote))
            simple.append((0.7, self.assign_uniform))
        if scope.kernel and (scope.uniform or scope.together):
            if "votes" in self.features:
                simple.append((2, self.vote))
            if "shuffles" in self.features and self.full_warps:
                simple.append((3, self.shuffle))
        options = list(simple)
        if self.left > 0 and scope.depth < 4:
            options += [(3, self.branch)]
            if scope.trips > 1 and "loops" in self.features:
                options += [(2.5, self.loop)]
            if "switch" in self.features:
                options += [(1, self.switch)]
            if "goto" in self.features and scope.trips > 1:
                options += [(0.8, self.jumps), (0.5, self.machine)]
            if scope.kernel and scope.trips > 2 and "atomics" in self.features:
                options += [(0.3, self.compare_and_swap)]
        weights = [weight for weight, _ in options]
        return self.rng.choices(options, weights)[0][1](scope)

    # -- simple ones ----------------------------------------------------------------------------

    def assign(self, scope: Scope) -> list[Statement]:
        ty = self.rng.choice([t for t, names in scope.writes.items() if names])
        name = self.rng.choice(scope.writes[ty])
        if self.e.chance(0.3):
            signs = ("+=", "-=", "*=") if ty in "fd" else ("+=", "-=", "*=", "&=", "|=", "^=")
            return [Statement([f"{name} {self.rng.choice(signs)} ", self.hole(ty, scope), ";"])]
        if ty in "iu" and self.e.chance(0.1):
            return [Statement([f"{self.rng.choice(('++', '--'))}{name};"])]
        return [Statement([f"{name} = ", self.hole(ty, scope, 3), ";"])]

    def assign_uniform(self, scope: Scope) -> list[Statement]:
        return [Statement([f"a{self.rng.randrange(2)} = ", Hole(self.e.uniform(2)), ";"])]

    def store_local(self, scope: Scope) -> list[Statement]:
        if self.e.chance(0.3):
            return [Statement(["lf[(", self.hole("i", scope, 1), ") & 3] = ", self.hole("f", scope), ";"])]
        if self.e.chance(0.3):
            return [Statement(["lb[(", self.hole("i", scope, 1), ") & 15] = ", self.hole("i", scope), ";"])]
        return [Statement(["la[(", self.hole("i", scope, 1), ") & 7] = ", self.hole("i", scope), ";"])]

    def store_out(self, scope: Scope) -> list[Statement]:
        """Store to elements that belong to this thread (see the macros of `generate`)."""
        name, ty, cells = self.rng.choice(
            [("OUT_I", "i", 4), ("OUT_F", "f", 4), ("OUT_L", "l", 2), ("OUT_D", "d", 2), ("OUT_B", "i", 8)]
        )
        if self.e.chance(0.15) and name in ("OUT_I", "OUT_F") and "vectors" in self.features:
            kind = "int" if name == "OUT_I" else "float"
            array = "out_i" if name == "OUT_I" else "out_f"
            two = self.e.chance(0.5)
            parts: list[Part] = []
            for n in range(2 if two else 4):
                parts += [", "] * (n > 0) + [self.hole(ty, scope, 1)]
            size, at = (2, f"gid * 2 + {self.rng.randrange(2)}") if two else (4, "gid")
            return [
                Statement(
                    [f"{name}_VECTOR((({kind}{size}*){array})[{at}] = make_{kind}{size}(", *parts, "));"]
                )
            ]
        cell: list[Part] = [str(self.rng.randrange(cells))]
        if self.e.chance(0.3):
            cell = ["(", self.hole("i", scope, 1), f") & {cells - 1}"]
        sign = "+=" if self.e.chance(0.2) and ty in "il" else "="
        return [Statement([f"{name}(", *cell, f") {sign} ", self.hole(ty, scope), ";"])]

    def load_vector(self, scope: Scope) -> list[Statement]:
        """Load a vector and use every element, so that the compiler emits one vector load."""
        kind, array, last, names = self.rng.choice([
            ("int4", "in_i", 63, "iiii"), ("int2", "in_i", 127, "ii"), ("float4", "in_f", 63, "ffff"),
            ("float2", "in_f", 127, "ff"), ("double2", "in_d", 63, "dd"), ("longlong2", "in_l", 63, "ll"),
            ("uchar4", "in_i", 255, "iiii"), ("short2", "in_i", 255, "ii"),
        ])  # fmt: skip
        names = names if scope.writes.get(names[0]) else "f" * len(names)
        z = self.label("z")
        assignments = []
        for part, ty in zip("xyzw", names, strict=False):
            assignments.append(
                f"{self.rng.choice(scope.writes[ty])} {self.rng.choice(('+=', '-=', '*='))} {z}.{part};"
            )
        return [Statement([f"{{ {kind} {z} = ((const {kind}*){array})[(", self.hole("i", scope, 1),
                           f") & {last}]; {' '.join(assignments)} }}"])]  # fmt: skip

    def lock(self, scope: Scope) -> list[Statement]:
        """Take and release a lock that the lanes of a warp hold one after the other."""
        done = self.label("done")
        if self.e.chance(0.5):
            return [Statement([
                f"{{ int {done} = 0; while (!{done}) {{ if (atomicCAS(acc + 112, 0u, 1u) == 0u) {{ acc_lock[0] += (unsigned)(",
                self.hole("i", scope), f"); __threadfence(); atomicExch(acc + 112, 0u); {done} = 1; }} }} }}",
            ])]  # fmt: skip
        return [Statement([
            "while (atomicCAS(acc + 112, 0u, 1u) != 0u) ;\nacc_lock[1] ^= (unsigned)(", self.hole("i", scope),
            "); __threadfence(); atomicExch(acc + 112, 0u);",
        ])]  # fmt: skip

    def one_by_one(self, scope: Scope) -> list[Statement]:
        """Run one thread after the other; each waits for the one before it."""
        name = self.label("turn")
        inner = scope.inside(
            uniform=False, together=False, trips=1, breaks=False, continues=False, returns=""
        )
        return [Statement([
            f"__shared__ volatile int {name}[2]; if (t == 0) {{ {name}[0] = 0; {name}[1] = n; }} __syncthreads();\n"
            f"while ({name}[0] != t) ;\n{{", self.body(inner, 2), f"}} {name}[1] = {name}[1] * 3 + (", self.hole("i", scope),
            f"); i0 += {name}[1]; __threadfence_block(); {name}[0] = t + 1; __syncthreads();",
        ])]  # fmt: skip

    def accumulate(self, scope: Scope) -> list[Statement]:
        """Update an accumulator by an atomic operation whose final result does not depend on the order."""
        cell: list[Part] = ["[(", self.hole("i", scope, 1), ") & 15], "]
        if self.e.chance(0.25):
            op = self.rng.choice(("Add", "Max", "Min", "Xor"))
            row = ("Add", "Max", "Min", "Xor").index(op) * 16
            kind = (
                "unsigned long long"
                if op in ("Add", "Xor")
                else self.rng.choice(("long long", "unsigned long long"))
            )
            if op in ("Max", "Min"):
                kind = "unsigned long long" if op == "Max" else "long long"
            return [
                Statement(
                    [
                        f"atomic{op}(&(({kind}*)accl + {row})",
                        *cell,
                        f"({kind})(",
                        self.hole("l", scope),
                        "));",
                    ]
                )
            ]
        op, row = self.rng.choice([("Add", 0), ("Max", 1), ("Min", 2), ("Or", 3), ("And", 4), ("Xor", 5)])
        kind = "int" if op == "Min" or (op == "Add" and self.e.chance(0.5)) else "unsigned"
        return [
            Statement(
                [
                    f"atomic{op}(&(({kind}*)acc + {row * 16})",
                    *cell,
                    f"({kind})(",
                    self.hole("i", scope),
                    "));",
                ]
            )
        ]

    def compare_and_swap(self, scope: Scope) -> list[Statement]:
        name = self.label("old")
        return [Statement([
            f"{{ unsigned {name} = 0, {name}s; do {{ {name}s = {name}; {name} = atomicCAS(&acc[96 + ((",
            self.hole("i", scope, 1), f") & 0) + (t & 15)], {name}s, {name}s + 3u); }} while ({name} != {name}s); }}",
        ])]  # fmt: skip

    def leave_loop(self, scope: Scope) -> list[Statement]:
        word = self.rng.choice(["break"] * scope.breaks + ["continue"] * scope.continues)
        condition = self.uniform_test() if scope.uniform else self.test(scope)
        return [Statement(["if (", condition, f") {word};"])]

    def leave_function(self, scope: Scope) -> list[Statement]:
        if scope.returns == "void":
            self.exits = True
            return [Statement(["if (", self.test(scope), ") return;"])]
        return [Statement(["if (", self.test(scope), ") return ", self.hole(scope.returns, scope), ";"])]

    # -- control flow ---------------------------------------------------------------------------

    def branch(self, scope: Scope) -> list[Statement]:
        uniform = scope.uniform and self.e.chance(0.4)
        together = uniform or (scope.kernel and (scope.uniform or scope.together) and self.e.chance(0.3))
        condition = self.uniform_test() if uniform else self.by_warp() if together else self.test(scope)
        inner = scope.inside(uniform=uniform, together=together)
        if not uniform and (scope.uniform or scope.together):  # all threads leave such a loop together
            inner = scope.inside(uniform=False, together=together, breaks=False, continues=False)
        parts: list[Part] = ["if (", condition, ") {", self.body(inner)]
        while self.e.chance(0.25) and not together:
            parts += ["} else if (", self.test(scope), ") {", self.body(inner, 2)]
        if self.e.chance(0.5):
            parts += ["} else {", self.body(inner)]
        return [Statement([*parts, "}"])]

    def by_warp(self) -> Hole:
        """Return a condition with the same value in all lanes of a warp."""
        k = self.rng.randrange(3)
        options = [f"(t / 32 == {k})", "((t >> 5) & 1)", f"(t < {32 * k})", "(gid >= 64 + (gid & 31))"]
        if "votes" in self.features:
            options.append(f"__any_sync({FULL}, t == {self.rng.randrange(self.e.threads)})")
        return Hole(self.rng.choice(options), ("0", "1"))

    def loop(self, scope: Scope) -> list[Statement]:
        uniform = scope.uniform and self.e.chance(0.5)
        most = self.rng.randint(1, min(6, scope.trips))
        inner = scope.inside(
            uniform=uniform, together=uniform, trips=scope.trips // (most + 1), breaks=True, continues=True
        )
        k = self.label("k")
        inner.reads = {**scope.reads, "i": [*scope.reads.get("i", []), k]}
        body = self.body(inner)
        unroll = "#pragma unroll 1\n" if self.e.chance(0.6) else ""
        if uniform:
            trips = Hole(self.e.uniform(), ("1", "2"))
            return [Statement([f"{unroll}for (int {k} = 0; {k} < (int)((unsigned)(", trips, f") % {most + 1}u); ++{k}) {{",
                               body, "}"])]  # fmt: skip
        trips = Hole(self.e.expression("i", scope, 2), ("1", "2", "t"))
        test = self.test(inner)
        form = self.rng.randrange(6)
        count = f") % {most + 1}u"
        heads: list[list[Part]] = [
            [f"{unroll}for (int {k} = 0; {k} < (int)((unsigned)(", trips, f"{count}); ++{k}) {{", body, "}"],
            [f"{unroll}for (unsigned {k} = (unsigned)(", trips, f"{count}; {k}-- > 0u;) {{", body, "}"],
            [f"{unroll}for (int {k} = 0; {k} < {most}; ++{k}) {{", body, "}"],
            [f"{{ int {k} = -1;\n{unroll}while (++{k} < {most} && ", test, ") {", body, "} }"],
            [f"{{ int {k} = -1;\n{unroll}do {{", body, f"}} while (++{k} < {most - 1} && ", test, "); }"],
            [f"{unroll}for (int {k} = (t & 7) * {most} + 3; {k} >= 3; {k} -= 7 + (t & 1)) {{", body, "}"]
            if scope.kernel
            else [f"for (int {k} = {most}; {k}; --{k}) {{", body, "}"],
        ]
        return [Statement(heads[form])]

    def switch(self, scope: Scope) -> list[Statement]:
        inner = scope.inside(uniform=False, together=False, breaks=False,
                             continues=scope.continues and not scope.uniform and not scope.together)  # fmt: skip
        values = list(range(self.rng.choice((2, 3, 4, 6, 8, 14))))
        if self.e.chance(0.3):
            values = self.rng.sample([-3, 0, 1, 2, 5, 17, 100, 1 << 20], 3)
        mask = self.rng.choice((3, 7, 7, 15))
        selector: list[Part] = ["(int)(", self.hole("i", scope), f") & {mask}"]
        parts: list[Part] = ["switch (", *selector, ") {\n"]
        for value in values:
            parts += [
                f"case {value}: {{",
                self.body(inner, 2),
                "}" + (" break;\n" if self.e.chance(0.7) else "\n"),
            ]
        if self.e.chance(0.6):
            parts += ["default: {", self.body(inner, 2), "}\n"]
        return [Statement([*parts, "}"])]

    def jumps(self, scope: Scope) -> list[Statement]:
        """Jump between labels with `goto`, into and out of loops; a counter bounds the jumps."""
        most = min(4, scope.trips)
        inner = scope.inside(
            uniform=False, together=False, trips=scope.trips // (most + 1), breaks=False, continues=False
        )
        name, fuel = self.label("L"), self.label("fuel")
        parts: list[Part] = [f"{{ int {fuel} = {most};\n"]
        places = self.rng.randint(2, 4)
        if self.e.chance(0.6):
            parts += ["if (", self.test(scope), f") goto {name}_{self.rng.randrange(places)};\n"]
        for place in range(places):
            parts += [f"{name}_{place}: {{", self.body(inner, 2), "}\n"]
            if self.e.chance(0.7):
                target = self.rng.randrange(places + 1)
                parts += ["if ((", self.test(scope), f") && --{fuel} > 0) goto {name}_{target};\n"]
        parts.append(f"{name}_{places}: ; }}")
        return [Statement(parts)]

    def machine(self, scope: Scope) -> list[Statement]:
        """Run a state machine, a loop around a switch, with edges between all states."""
        most = min(6, scope.trips)
        inner = scope.inside(
            uniform=False, together=False, trips=scope.trips // (most + 1), breaks=False, continues=True
        )
        state, fuel = self.label("state"), self.label("steps")
        states = self.rng.randint(2, 4)
        parts: list[Part] = [f"{{ int {state} = (", self.hole("i", scope), f") & 3;\n#pragma unroll 1\n"
                             f"for (int {fuel} = 0; {fuel} < {most}; ++{fuel}) switch ({state}) {{\n"]  # fmt: skip
        for value in range(states):
            parts += [
                f"case {value}: {{",
                self.body(inner, 2),
                f"}} {state} = (",
                self.hole("i", scope, 1),
                ") & 7;",
            ]
            parts.append(" break;\n" if self.e.chance(0.8) else "\n")
        parts.append(
            f"default: {state} = {self.rng.randrange(states)}; {fuel} += {self.rng.randrange(3)};\n}} }}"
        )
        return [Statement(parts)]

    # -- the whole block ------------------------------------------------------------------------

    def permuted_cell(self) -> str:
        """Return an index that is a permutation of 0 … threads - 1 over the block."""
        count = self.e.threads
        options = ["t", "t", f"{count - 1} - t", f"(t + {self.rng.randrange(count)}) % {count}"]
        odd = self.rng.choice((3, 5, 7))
        if count % odd:
            options.append(f"t * {odd} % {count}")
        return self.rng.choice(options)

    def free_arrays(self, scope: Scope) -> list[str]:
        wanted = [n for n in SHARED_TYPES if n != "dyn" or "dynamic" in self.features]
        return [n for n in wanted if n not in scope.shared and n not in self.arrays_in_use]

    def exchange(self, scope: Scope) -> list[Statement]:
        """Write one element each, then read all elements between two barriers."""
        if self.e.chance(0.25) and "tile" not in scope.shared and "tile" not in self.arrays_in_use:
            return self.tile(scope)
        self.has_barrier = True
        free = self.free_arrays(scope)
        if not free:
            return self.assign(scope)
        name = self.rng.choice(free)
        value = self.hole(SHARED_TYPES[name], scope)
        self.arrays_in_use.add(name)
        inner = scope.inside(shared=(*scope.shared, name), breaks=False, continues=False)
        body = self.body(inner, 3)
        self.arrays_in_use.discard(name)
        first, second = self.barrier(), self.barrier()
        return [
            Statement([f"{name}[{self.permuted_cell()}] = ", value, f";\n{first} {{", body, f"}} {second}"])
        ]

    def exchange_through_function(self, scope: Scope) -> list[Statement]:
        """Call a function that contains barriers (see `generate.EXCHANGE_FUNCTION`)."""
        self.has_barrier = True
        if "shI" in scope.shared or "shI" in self.arrays_in_use:
            return self.assign(scope)
        name = self.rng.choice(scope.writes["i"])
        return [
            Statement(
                [
                    f"{name} = shared_exchange(shI, t, {self.rng.randrange(self.e.threads)}, ",
                    self.hole("i", scope),
                    ");",
                ]
            )
        ]

    def may_exit(self, scope: Scope) -> bool:
        """Return True if threads may exit here: no thread of the block waits at a barrier afterwards."""
        in_loop = scope.trips != self.trips
        return "returns" in self.features and not self.arrays_in_use and not (in_loop and self.has_barrier)

    def barrier(self) -> str:
        return self.rng.choice(("__syncthreads();", "__syncthreads();", "__syncthreads_count(t & 1);"))

    def tile(self, scope: Scope) -> list[Statement]:
        self.has_barrier = True
        value = self.hole("i", scope)
        self.arrays_in_use.add("tile")
        inner = scope.inside(shared=(*scope.shared, "tile"), breaks=False, continues=False)
        body = self.body(inner, 3)
        self.arrays_in_use.discard("tile")
        return [
            Statement(
                ["if (tz == 0) tile[ty][tx] = ", value, ";\n__syncthreads(); {", body, "} __syncthreads();"]
            )
        ]

    def histogram(self, scope: Scope) -> list[Statement]:
        self.has_barrier = True
        if "shU" in scope.shared or "shU" in self.arrays_in_use:
            return self.assign(scope)
        bins = self.rng.choice((1, 4, self.e.cells))
        op = self.rng.choice(("Add", "Add", "Max", "Or", "Xor"))
        parts: list[Part] = ["shU[t] = 0; __syncthreads();\nif (", self.test(scope), f") atomic{op}(&shU[("]
        parts += [self.hole("i", scope), f") & {bins - 1}], (unsigned)(", self.hole("i", scope), "));\n"]
        parts += [f"__syncthreads(); u0 += shU[t & {bins - 1}]; __syncthreads();"]
        if self.e.threads < bins:  # one store for each thread would not clear all bins
            parts[0] = (
                f"for (int z = t; z < {bins}; z += {self.e.threads}) shU[z] = 0; __syncthreads();\nif ("
            )
        return [Statement(parts)]

    def reduction(self, scope: Scope) -> list[Statement]:
        """Compute a tree reduction or a scan in shared memory."""
        self.has_barrier = True
        if "shI" in scope.shared or "shI" in self.arrays_in_use:
            return self.assign(scope)
        s, v = self.label("s"), self.label("v")
        count, half = self.e.threads, self.e.cells // 2
        value = self.hole("i", scope)
        if self.e.chance(0.5):
            tail = [f";\n__syncthreads();\nfor (int {s} = {half}; {s} > 0; {s} >>= 1) {{ if (t < {s} && t + {s} < {count}) "
                    f"shI[t] += shI[t + {s}]; __syncthreads(); }}\ni0 ^= shI[0]; __syncthreads();"]  # fmt: skip
        else:
            tail = [f";\n__syncthreads();\nfor (int {s} = 1; {s} < {count}; {s} *= 2) {{ int {v} = t >= {s} ? shI[t - {s}] : 0; "
                    f"__syncthreads(); shI[t] += {v}; __syncthreads(); }}\ni1 -= shI[t]; __syncthreads();"]  # fmt: skip
        if "returns" in self.features:  # elements of exited threads have not been written
            tail = ["; __syncthreads(); i0 += shI[t]; __syncthreads();"]
        return [Statement(["shI[t] = ", value, *tail])]

    def block_vote(self, scope: Scope) -> list[Statement]:
        """Assign the result of a block-level vote, which is uniform."""
        self.has_barrier = True
        op = self.rng.choice(("or", "and", "count"))
        return [Statement([f"a{self.rng.randrange(2)} = __syncthreads_{op}(", self.test(scope), ");"])]

    def vote(self, scope: Scope) -> list[Statement]:
        """Assign the result of a warp-level vote, match or reduction, which is not uniform over the block."""
        name = self.rng.choice(scope.writes["i"])
        test = self.test(scope)
        roll = self.rng.random()
        if roll < 0.5:
            return [Statement(["__syncwarp();"])] if roll < 0.2 else self.assign(scope)
        if roll < 0.6 and "match" in self.features:
            return [Statement([f"{name} ^= __match_any_sync({FULL}, (", self.hole("i", scope, 1), ") & 7);"])]
        if roll < 0.65 and "redux" in self.features:
            op = self.rng.choice(("add", "min", "max", "and", "or", "xor"))
            return [
                Statement(
                    [f"{name} ^= (int)__reduce_{op}_sync({FULL}, (unsigned)(", self.hole("i", scope), "));"]
                )
            ]
        return [Statement([f"{name} += {self.rng.choice(('__any_sync', '__all_sync', '(int)__ballot_sync'))}({FULL}, ", test,
                           ");"])]  # fmt: skip

    def shuffle(self, scope: Scope) -> list[Statement]:
        ty = self.rng.choice([t for t in "iiuflvd" if scope.writes.get(t)])
        name = self.rng.choice(scope.writes[ty])
        width = self.rng.choice(("", "", ", 16", ", 8", ", 4", ", 2"))
        form = self.rng.choice(("_xor", "_up", "_down", ""))
        lane = Hole(f"{self.rng.randrange(33)}", ("0", "1"))
        if not form and self.e.chance(0.7):
            lane = self.hole("i", scope, 1)
        value = self.hole(ty, scope)
        return [
            Statement(
                [f"{name} = __shfl{form}_sync({FULL}, ({TYPES[ty]})(", value, "), ", lane, f"{width});"]
            )
        ]

    def label(self, stem: str) -> str:
        self.labels += 1
        return f"{stem}{self.labels}"
