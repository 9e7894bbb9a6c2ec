"""Thread frontiers, and the size of the code that they need."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gpulab.compiler import compile_program
from gpulab.simt.analysis.basic_blocks import Block
from gpulab.simt.analysis.reconvergence import (
    deferred_blocks,
    exit_blocks,
    frontiers,
    rendezvous_blocks,
    resume_order,
    target_sets,
)
from gpulab.simt.codegen.native import Specialization, lower
from gpulab.simt.ptx.parser import parse
from gpulab.simt.ptx.syntax import Instruction, Reg
from tests.simt.programs import simulator


def reference_frontiers(
    blocks: list[Block], divergent: set[int], spins: frozenset[int]
) -> list[frozenset[int]]:
    """Compute the frontiers with sets, as the definition states them."""
    found: list[set[int]] = [set() for _ in blocks]
    seen, changed, past, exits = {0}, True, rendezvous_blocks(blocks), exit_blocks(blocks)
    while changed:
        changed = False
        for number in sorted(seen):
            block, here = blocks[number], frozenset(found[number])
            steps: list[tuple[int, frozenset[int]]] = []
            for targets in target_sets(block, divergent):
                if block.end == "barrier":
                    steps += [(t, frozenset()) for t in targets]
                    passed = past[number] | {number}
                    steps += [(n, here - {n} | {number}) for n in here - passed]
                else:
                    order, occupied = resume_order(here, targets, exits, past)
                    deferred = deferred_blocks(here, set(targets) - exits, past)
                    steps += [
                        (c, frozenset(n for n in occupied if n > c or n in deferred) - {c}) for c in order
                    ]
            if number in spins:
                steps += [(c, here - {c} | {number}) for c in here]
            for target, suspended in steps:
                if target not in seen or not suspended <= found[target]:
                    seen.add(target)
                    found[target] |= suspended
                    changed = True
    return [frozenset(f) for f in found]


@st.composite
def graphs(draw: st.DrawFn) -> list[Block]:
    count = draw(st.integers(1, 9))
    numbers = st.integers(0, count - 1)
    code = Instruction(("mov", "u32"), (Reg("%r1"), Reg("%r2")), None, 0)
    blocks = []
    for number in range(count):
        end = draw(st.sampled_from(["jump", "branch", "branch", "barrier", "exit"]))
        targets = {"branch": (draw(numbers), draw(numbers)), "exit": ()}.get(end, (draw(numbers),))
        condition = Reg("%p1") if end == "branch" else None
        body = [code] if draw(st.booleans()) else []
        blocks.append(Block(number, body, end, targets, condition))
    return blocks


@given(graphs(), st.sets(st.integers(0, 8)), st.frozensets(st.integers(0, 8)))
def test_frontiers_of_random_graphs(blocks: list[Block], divergent: set[int], spins: frozenset[int]) -> None:
    past = rendezvous_blocks(blocks)
    assert frontiers(blocks, divergent, spins, past) == reference_frontiers(blocks, divergent, spins)


def kernel_with_lock(branches: int) -> str:
    """Return a kernel with a spin loop, followed by many divergent branches."""
    body = "".join(
        f"if (x[i * {k + 3} % n] > {k % 7}) {{ v += {k}; if (v % {k % 5 + 2} == 0) v ^= {3 * k}; }}\n"
        for k in range(branches)
    )
    return f"""extern "C" __global__ void k(const int* x, int* out, int* lock, int n) {{
        int i = threadIdx.x, v = 0;
        while (atomicCAS(lock, 0, 1) != 0) {{ }}
        __threadfence();
        ((volatile int*)lock)[1] += 1;
        __threadfence();
        atomicExch(lock, 0);
        {body}
        out[i] = v;
    }}"""


def code_size(branches: int) -> int:
    _, text = lower(
        parse(compile_program(kernel_with_lock(branches)).ptx), "k", Specialization((64, 1, 1), 0)
    )
    return len(text)


def test_code_after_a_spin_loop_grows_linearly() -> None:
    assert code_size(80) < 3 * code_size(40)


def test_kernel_with_many_frontier_blocks() -> None:
    branches, n = 60, 64
    x = np.random.default_rng(1).integers(0, 9, n, dtype=np.int32)
    device = simulator()
    out, lock = device.zeros(n, np.int32), device.zeros(2, np.int32)
    device.compile(kernel_with_lock(branches))(1, n, (device.asarray(x), out, lock, n))

    def expected(i: int) -> int:
        v = 0
        for k in range(branches):
            if x[i * (k + 3) % n] > k % 7:
                v += k
                if v % (k % 5 + 2) == 0:
                    v ^= 3 * k
        return v

    assert device.asnumpy(lock).tolist() == [0, n]
    assert device.asnumpy(out).tolist() == [expected(i) for i in range(n)]
