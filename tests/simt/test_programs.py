"""Kernels with independent threads against NumPy: control flow, calls, indices and printing."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gpulab.errors import LaunchError
from tests.kernels.corpus import program
from tests.simt.programs import compiled, launch, random, simulator

F32 = np.float32
I32 = np.int32
U32 = np.uint32


def zeros(*shape: int, dtype: type = F32) -> np.ndarray:
    return np.zeros(shape, dtype)


def test_vector_add_with_a_partial_last_block() -> None:
    x, y = random().random((2, 1000), F32)
    *_, z = launch("vector_add", 8, 128, x, y, zeros(1000), 1000)
    np.testing.assert_array_equal(z, x + y)


@pytest.mark.parametrize(("grid", "block"), [(1, 32), (3, 48), (7, 1024)])
def test_grid_stride_loop(grid: int, block: int) -> None:
    x, y = random().random((2, 1234), F32)
    _, out = launch("saxpy_grid_stride", grid, block, 1234, 2.5, x, y)
    np.testing.assert_allclose(out, F32(2.5) * x + y, rtol=1e-6)


def test_struct_passed_by_value() -> None:
    lens = np.dtype(
        {
            "names": ["gain", "shift", "mask", "offset", "table"],
            "formats": ["f4", "i2", "u1", "f8", ("i4", 4)],
            "offsets": [0, 4, 6, 8, 16],
            "itemsize": 32,
        }
    )
    value = np.array((0.5, 3, 0x7F, -1.25, (10, 20, 30, 40)), lens)[()]
    x = random(6).integers(0, 5000, 50, dtype=I32)
    _, out = launch("struct_parameters", 1, 64, value, x, zeros(50, dtype=np.float64), 50, kernel="look")
    expected = 0.5 * ((x >> 3) & 0x7F) - 1.25 + np.array([10, 20, 30, 40])[np.arange(50) & 3]
    np.testing.assert_array_equal(out, expected)


def test_array_of_structs() -> None:
    particle = np.dtype(
        {"names": ["p", "kind", "mass"], "formats": [("f4", 3), "i4", "f8"], "offsets": [0, 12, 16]}
    )
    particles = np.zeros(70, particle)
    particles["p"] = random(7).random((70, 3))
    particles["kind"] = np.arange(70) - 30
    particles["mass"] = np.arange(70)
    step = np.array([1.0, -2.0, 0.5], F32)
    (raw,) = launch("struct_parameters", 2, 64, particles.view(np.uint8), step.tobytes(), 70, kernel="drift")
    out = raw.view(particle)
    np.testing.assert_allclose(out["p"], particles["p"] + step * particles["kind"][:, None], rtol=1e-5)
    np.testing.assert_array_equal(out["mass"], particles["mass"] / 2)
    np.testing.assert_array_equal(out["kind"], particles["kind"])


def test_switch_and_goto() -> None:
    push, add, sub, mul, dup, neg, halt = range(7)
    programs = [
        [push, 6, push, 7, mul, halt],
        [push, 9, push, 4, sub, dup, mul, halt],
        [push, 5, neg, push, 2, add],
        [halt],
        [push, 1, 99],
        [push, 2, dup, dup, dup, mul, mul, add, halt],
        [push, 1] + [dup] * 20,
    ] * 6
    length = max(map(len, programs))
    padded = np.array([p + [halt] * (length - len(p)) for p in programs], I32)
    _, results = launch(
        "switch_and_goto",
        2,
        32,
        padded,
        zeros(len(programs), dtype=I32),
        length,
        len(programs),
        kernel="interpret",
    )
    assert results.tolist() == [42, 25, -3, -1, -1, 10, 1] * 6


def test_goto_out_of_nested_loops() -> None:
    x = random(8).integers(0, 40, (60, 8), dtype=I32)

    def first_pair(row: list[int]) -> int:
        pairs = ((a, b) for a in range(8) for b in range(a + 1, 8))
        return next((a * 8 + b for a, b in pairs if row[a] == row[b]), -1)

    _, out = launch("switch_and_goto", 1, 64, x, zeros(60, dtype=I32), 8, 60, kernel="first_pair")
    assert out.tolist() == [first_pair(row) for row in x.tolist()]


def test_return_at_several_places() -> None:
    x = np.array([np.nan, -1.0, 0.5, 1.5, 3.0, 100.0, 255.0, 1000.0, np.inf, -np.inf, 0.0] * 9, F32)

    def kind(v: float) -> int:
        if math.isnan(v):
            return 0
        if v < 0:
            return 1
        return next((10 + k for k in range(8) if v / 2**k < 1), 99)

    _, out = launch("early_return", 4, 32, x, zeros(len(x), dtype=I32), len(x), kernel="classify")
    assert out.tolist() == [kind(float(v)) for v in x]


def test_loop_with_a_different_trip_count_in_every_lane() -> None:
    def chain(v: int) -> tuple[int, int]:
        steps, top = 0, v
        while v != 1:
            v = 3 * v + 1 if v % 2 else v // 2
            steps, top = steps + 1, max(top, v)
        return steps, top

    steps, peak = launch("collatz", 5, 64, zeros(300, dtype=I32), zeros(300, dtype=np.uint64), 300)
    assert list(zip(steps.tolist(), peak.tolist(), strict=True)) == [chain(i + 1) for i in range(300)]


def test_nested_divergent_loops() -> None:
    def total(i: int, x: int) -> int:
        sum_ = 0
        for v in range(2, x + 1):
            if any(v % d == 0 for d in range(2, math.isqrt(v) + 1)):
                continue
            if v > 90:
                return -sum_
            sum_ += sum(v if (w ^ i) & 1 else 1 for w in range(v % 4))
        return sum_

    x = random(9).integers(-3, 110, 200, dtype=I32)
    _, out = launch("nested_divergence", 4, 64, x, zeros(200, dtype=I32), 200)
    assert out.tolist() == [total(i, v) for i, v in enumerate(x.tolist())]


def test_functions_without_inlining() -> None:
    a, b = random(10).integers(-50, 400, (2, 130), dtype=I32)
    outputs = (zeros(130, dtype=I32), zeros(130, dtype=I32), zeros(130))
    *_, divisor, spread, rest = launch("function_calls", 3, 64, a, b, *outputs, 130)
    low, high = np.minimum(a, b), np.maximum(a, b)
    np.testing.assert_array_equal(spread, high - low)
    np.testing.assert_array_equal(divisor, np.where(low > 0, np.gcd(low, high), -1))
    np.testing.assert_allclose(rest, F32(0.37) * a.astype(F32), rtol=1e-6, atol=1e-6)


def test_recursion_with_a_different_depth_in_every_lane() -> None:
    x = random(10).integers(0, 15, 64, dtype=I32)
    fibonacci = [0, 1]
    while len(fibonacci) < 15:
        fibonacci.append(fibonacci[-1] + fibonacci[-2])
    _, out = launch("recursion", 1, 64, x, zeros(64, dtype=I32), 64)
    np.testing.assert_array_equal(out, np.take(fibonacci, x))


MUTUAL_RECURSION = """
typedef int (*next)(int, int);
__device__ int first(int n, int sum) { return sum; }
__device__ int second(int n, int sum);
__device__ next table[2] = {second, first};
__device__ __noinline__ int second(int n, int sum) { return table[n == 1](n - 1, sum + n); }

extern "C" __global__ void sums(const int* x, int* out)
{
    int i = threadIdx.x, sum = table[0](x[i], 0);
    out[i] = table[0](x[i] + 1, 1000 * sum);
}
"""


def test_function_returns_to_calls_in_functions_of_later_names() -> None:
    x, device = random(14).integers(1, 20, 64, dtype=I32), simulator()
    out = device.zeros(64, I32)
    device.compile(MUTUAL_RECURSION)(1, 64, (device.asarray(x), out))
    triangle = x * (x + 1) // 2
    np.testing.assert_array_equal(device.asnumpy(out), 1000 * triangle + triangle + x + 1)


@pytest.mark.parametrize(
    ("levels", "call", "added"),
    [(400, "f{0}(x) + 1", 400), (16, "f{0}(x) + f{0}(x) - x", 1 << 15)],
    ids=["deep", "doubling"],
)
def test_functions_that_call_each_other_on_many_levels(levels: int, call: str, added: int) -> None:
    functions = ["__device__ __noinline__ int f0(int x) { return x + 1; }"]
    functions += [
        f"__device__ __noinline__ int f{level}(int x) {{ return {call.format(level - 1)}; }}"
        for level in range(1, levels)
    ]
    kernel = f'extern "C" __global__ void last(int* out) {{ out[0] = f{levels - 1}(5); }}'
    out = simulator().zeros(1, I32)
    simulator().compile("\n".join([*functions, kernel]))(1, 1, (out,))
    assert simulator().asnumpy(out)[0] == 5 + added


def test_function_pointers_that_differ_between_lanes() -> None:
    which = random(11).integers(0, 3, 50, dtype=I32)
    a, b = random(11).integers(-1000, 1000, (2, 50), dtype=I32)
    *_, out = launch("function_pointers", 1, 64, which, a, b, zeros(50, dtype=I32), 50, kernel="apply")
    np.testing.assert_array_equal(out, np.choose(which, [a + b, a - b, a * b]))


def test_local_array_with_computed_indices() -> None:
    x = random(12).integers(-1000, 1000, (77, 9), dtype=I32)
    _, out = launch("local_array", 3, 32, x, zeros(77, dtype=I32), 77, kernel="median_of_nine")
    np.testing.assert_array_equal(out, np.median(x, axis=1))


def test_local_array_of_bytes() -> None:
    x = random(13).integers(0, 2**32, 90, dtype=U32)
    _, out = launch("local_array", 3, 32, x, zeros(90, dtype=I32), 90, kernel="commonest_digit")
    # The digit that a number has most often; the smallest of several.
    expected = [max(range(10), key=lambda d: (str(v).count(str(d)), -d)) for v in x.tolist()]
    assert out.tolist() == expected


def test_unsigned_index_wraps_before_its_guard() -> None:
    x = random(14).integers(1, 9, 100, dtype=I32)

    def at(i: int) -> int:
        return int(x[i]) if i >= 0 else 0

    _, out = launch("unsigned_wrap", 2, 64, x, zeros(100, dtype=I32), 100, kernel="left_neighbour")
    assert out.tolist() == [at(i - 1) + 1000 * at(i - 40) + 1000000 * at(i - 2) for i in range(100)]


def test_unsigned_countdown_ends_when_it_wraps() -> None:
    x = random(15).integers(1, 9, 100, dtype=I32)
    _, out = launch("unsigned_wrap", 2, 64, x, zeros(100, dtype=I32), 100, kernel="countdown")
    np.testing.assert_array_equal(out, np.cumsum(x) + (np.arange(100) - 5) % 65536)


def test_64_bit_indices() -> None:
    n, stride, length = 150, 98765432123, 100
    x = random(16).integers(0, 1000, max(n, length), dtype=I32)
    _, out = launch("index_64_bit", 2, 96, x, zeros(n, dtype=I32), stride, length, n, kernel="gather")

    def expected(i: int) -> int:
        far = i * stride - 3000000000
        quotient = int(math.copysign(abs(far) // length, far))  # C rounds to zero
        value = int(x[far % length]) + quotient + 15 + 7 * int(x[n - 1 - i])
        return (value + 2**31) % 2**32 - 2**31

    assert out.tolist() == [expected(i) for i in range(n)]


def test_pointer_outside_an_array_with_a_valid_offset() -> None:
    x = np.arange(60, dtype=I32)
    _, out = launch("index_64_bit", 1, 64, x, zeros(60, dtype=I32), 60, kernel="far_base")
    np.testing.assert_array_equal(out, x[::-1])


def test_game_of_life() -> None:
    now = random(19).integers(0, 2, (23, 41), dtype=np.uint8)
    _, after = launch("game_of_life", (3, 3), (16, 8), now, np.zeros_like(now), 41, 23)
    shifts = [(dy, dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if dy or dx]
    alive = sum(np.roll(now, shift, (0, 1)).astype(int) for shift in shifts)
    np.testing.assert_array_equal(after, (alive == 3) | ((alive == 2) & (now == 1)))


def test_printf_from_some_threads() -> None:
    kernel = compiled("printing", "hello")
    kernel(2, 32, (3,))
    lines = [f"hello from thread {t} of block {b}" for b in range(2) for t in range(3)]
    assert sorted(kernel.printed.splitlines()) == sorted(lines)


def test_printf_formats() -> None:
    kernel = compiled("printing", "formats")
    kernel(1, 32, (3.14159, 1.5e-7, -(2**40), ord("x")))
    first, second = kernel.printed.splitlines()
    assert first == " 3.14|1.500000e-07|-1099511627776|x|text|ff|   42|42   |00042|%"
    assert second == "no arguments"


def test_printed_is_empty_without_printf() -> None:
    kernel = compiled("printing", "hello")
    kernel(1, 32, (0,))
    assert kernel.printed == ""


def test_assertion_that_holds() -> None:
    _, copy = launch("asserting", 1, 64, np.arange(64, dtype=I32), 64, zeros(64, dtype=I32))
    np.testing.assert_array_equal(copy, np.arange(64))


def test_failed_assertion_has_its_line() -> None:
    device = simulator()
    x, copy = device.asarray(np.arange(64, dtype=I32)), device.zeros(64, I32)
    with pytest.raises(LaunchError) as failed:
        compiled("asserting")(1, 64, (x, 40, copy))
    assert failed.value.findings[0].line == 6


def test_module_variables_persist_between_launches() -> None:
    device = simulator()
    kernel = device.compile(program("module_globals"))
    out = device.zeros(8, np.float64)
    primes = np.array([2, 3, 5, 7, 11, 13, 17, 19])
    for launched in range(3):
        kernel(1, 8, (out,))
        np.testing.assert_array_equal(device.asnumpy(out), (primes + launched) * 0.125 + launched - 3)
