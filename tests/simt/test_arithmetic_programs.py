"""Kernels of arithmetic against NumPy: floats, doubles, integers, bits and vectors."""

from __future__ import annotations

import math

import numpy as np

from tests.simt.programs import launch, random

F32 = np.float32
I32 = np.int32
U32 = np.uint32


def zeros(*shape: int, dtype: type = F32) -> np.ndarray:
    return np.zeros(shape, dtype)


def test_black_scholes_prices() -> None:
    rng = random(1)
    spot, strike, years = (rng.uniform(*r, 500).astype(F32) for r in ((5, 30), (1, 100), (0.25, 10)))
    *_, call, put = launch(
        "black_scholes", 4, 128, spot, strike, years, 0.02, 0.3, zeros(500), zeros(500), 500
    )
    s, x, t = (v.astype(float) for v in (spot, strike, years))
    d1 = (np.log(s / x) + (0.02 + 0.045) * t) / (0.3 * np.sqrt(t))
    n1, n2 = (0.5 * (1 + np.vectorize(math.erf)(d / math.sqrt(2))) for d in (d1, d1 - 0.3 * np.sqrt(t)))
    discount = np.exp(-0.02 * t)
    np.testing.assert_allclose(call, s * n1 - x * discount * n2, atol=2e-4)
    np.testing.assert_allclose(put, x * discount * (1 - n2) - s * (1 - n1), atol=2e-4)


def test_double_precision() -> None:
    x = random(2).uniform(0.5, 9.0, 100)
    x, polynomial, root, ratio, total = launch(
        "double_precision", 2, 64, x, *(zeros(100, dtype=np.float64) for _ in range(3)), np.zeros(1), 100
    )
    np.testing.assert_allclose(polynomial, np.polyval([0.2, -0.25, 1 / 3, -0.5, 1.0], x), rtol=1e-14)
    np.testing.assert_allclose(root, 0.0, atol=1e-14)
    np.testing.assert_allclose(ratio, (x - 1) / (x + 1), rtol=1e-15)
    assert total[0] == np.floor(x * 1024).sum()


def test_32_bit_hashes() -> None:
    x = random(3).integers(0, 2**32, 500, dtype=np.uint64)
    mask = np.uint64(0xFFFFFFFF)
    h = x * np.uint64(2654435761) & mask
    h = ((h << np.uint64(13) | h >> np.uint64(19)) & mask) ^ (h >> np.uint64(7))
    h = h + (h * np.uint64(0x9E3779B9) >> np.uint64(32)) & mask
    h ^= np.array([int(f"{int(v):032b}"[::-1], 2) for v in x], np.uint64)
    h = h * np.uint64(5) + np.uint64(0xE6546B64) & mask
    _, out = launch("integer_hash", 2, 256, x.astype(U32), zeros(500, dtype=U32), 500, kernel="hash32")
    np.testing.assert_array_equal(out, h.astype(U32))


def test_64_bit_hashes() -> None:
    def mixed(x: int) -> int:
        low = 2**64 - 1
        h = x ^ x >> 31
        h = h * 0x7FB5D329728EA185 & low
        h ^= h >> 27
        h = h * 0x81DADEF4BC2DD44D & low
        h ^= h >> 33
        return h + (h * x >> 64) & low

    x = random(4).integers(0, 2**64, 300, dtype=np.uint64)
    _, out = launch("integer_hash", 3, 100, x, zeros(300, dtype=np.uint64), 300, kernel="hash64")
    assert out.tolist() == [mixed(int(v)) for v in x]


def test_bit_counting_intrinsics() -> None:
    x = np.concatenate([[0, 1, 2**31, 2**32 - 1], random(5).integers(0, 2**32, 200)]).astype(U32)
    n = len(x)
    outputs = (zeros(n, dtype=I32) for _ in range(4))
    _, ones, leading, first, digits = launch("integer_hash", 1, 256, x, *outputs, n, kernel="count_bits")
    values = [int(v) for v in x]
    assert ones.tolist() == [v.bit_count() for v in values]
    assert leading.tolist() == [32 - v.bit_length() for v in values]
    assert first.tolist() == [(v & -v).bit_length() for v in values]

    def digit_sum(v: int) -> int:
        sign = v - 2**32 if v >= 2**31 else v
        return -(-(-sign // 7) + -(-sign % 7)) if sign < 0 else sum(map(int, str(v)))

    assert digits.tolist() == [digit_sum(v) for v in values]


def test_mandelbrot_set() -> None:
    width, height, limit = 53, 37, 60
    (image,) = launch(
        "mandelbrot", (7, 5), (8, 8), zeros(height, width, dtype=np.uint8), width, height, limit
    )

    def escape(px: int, py: int) -> int:
        c = complex(-2.25 + 3.0 * px / (2 * width), -1.25 + 2.5 * py / (2 * height))
        z = 0j
        for k in range(limit):
            if z.real**2 + z.imag**2 > 4:
                return k
            z = z * z + c
        return limit

    samples = np.array([[escape(px, py) for px in range(2 * width)] for py in range(2 * height)])
    expected = samples.reshape(height, 2, width, 2).sum((1, 3)) // 4
    # A fused multiply-add may change the iteration count of a point at the border of the set by one.
    assert np.mean(image != expected) < 0.01


def test_narrow_integers_wrap() -> None:
    x = np.array([0, 1, -1, 127, 128, 255, 256, -129, 40000, -70000, 2**31 - 1, -(2**31)], I32)
    n = len(x)
    outputs = [zeros(n, dtype=t) for t in (np.int8, np.uint8, np.int16, np.uint16, np.int64)]
    _, c, uc, s, us, wide = launch("conversions", 1, 32, x, *outputs, n, kernel="narrow")
    np.testing.assert_array_equal(c, x.astype(np.int8))
    np.testing.assert_array_equal(uc, x.astype(np.uint8))
    np.testing.assert_array_equal(s, (x.astype(np.int64) * 3).astype(np.int16))
    np.testing.assert_array_equal(us, (c.astype(int) + uc).astype(np.uint16))
    np.testing.assert_array_equal(wide, s.astype(np.int64) * us - x.astype(np.int64) % 2**32)


def test_rounding_and_saturation() -> None:
    x = np.array([0.5, 1.5, 2.5, -0.5, -1.5, -2.7, 3.2, 1e10, -1e10, 0.0, 5e9, -3.0], F32)
    n = len(x)
    outputs = [zeros(n, dtype=I32) for _ in range(4)] + [zeros(n, dtype=U32), zeros(n)]
    _, cut, nearest, down, up, saturated, whole = launch(
        "conversions", 1, 32, x, *outputs, n, kernel="roundings"
    )
    for result, rounded in ((cut, np.trunc), (nearest, np.rint), (down, np.floor), (up, np.ceil)):
        expected = np.clip(rounded(x.astype(float)), -(2**31), 2**31 - 1)
        np.testing.assert_array_equal(result, expected)
    np.testing.assert_array_equal(saturated, np.clip(np.trunc(x.astype(float)), 0, 2**32 - 1))
    v = x.astype(float)
    expected = np.floor(v) + 10 * np.ceil(v) + 100 * np.trunc(v) + 1000 * np.rint(v) + np.clip(v, 0, 1)
    np.testing.assert_allclose(whole, expected, rtol=1e-6)


def test_conversions_between_floats_and_long_integers() -> None:
    d = np.array([0.1, -0.1, 1e300, 1e-50, 12345678901.75, -9e15, 1 / 3], np.float64)
    n = len(d)
    outputs = [zeros(n), *(zeros(n, dtype=t) for t in (np.int64, np.float64, U32))]
    _, f, whole, back, bits = launch("conversions", 1, 32, d, *outputs, n, kernel="floats")
    with np.errstate(over="ignore"):
        single = d.astype(F32)
    clipped = [max(-(2**63), min(2**63 - 1, int(v))) for v in d.tolist()]
    np.testing.assert_array_equal(f, single)
    assert whole.tolist() == clipped
    np.testing.assert_array_equal(back, single.astype(float) + np.array(clipped, np.int64).astype(float))
    np.testing.assert_array_equal(bits, single.view(U32))


def test_elementary_functions() -> None:
    x = random(17).uniform(0.01, 6.0, 200).astype(F32)
    _, out = launch("math_functions", 2, 128, x, zeros(16, 200), 200, kernel="elementary")
    v = x.astype(float)
    expected = [np.sin(v), np.cos(v), np.tan(v), np.exp(v), np.log(v), v**1.7, np.sqrt(v), 1 / np.sqrt(v)]
    expected += [np.cbrt(v), np.arctan2(v, 2), np.tanh(v), np.fmod(v, float(F32(0.7))), np.hypot(v, 3)]
    expected += [np.vectorize(math.erf)(v), np.exp2(v), np.log10(v)]
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-6)


def test_fast_functions() -> None:
    x = random(18).uniform(0.1, 3.0, 200).astype(F32)
    _, out = launch("math_functions", 2, 128, x, zeros(8, 200), 200, kernel="fast")
    v = x.astype(float)
    mixed = v * v + np.copysign(1, v - 1) + np.minimum(v, 1) + np.maximum(v, 1) + np.maximum(v - 1, 0)
    expected = [np.sin(v), np.cos(v), np.exp(v), np.log(v), 1 / v, np.sqrt(v), 1 / v, mixed]
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=2e-6)


def test_64_bit_random_numbers() -> None:
    def hits(i: int, draws: int) -> int:
        low = 2**64 - 1
        state = 42 + 0x9E3779B97F4A7C15 * (i + 1) & low
        inside = 0
        for _ in range(draws):
            state = state * 6364136223846793005 + 1442695040888963407 & low
            x = state >> 40
            state = state * 6364136223846793005 + 1442695040888963407 & low
            y = state >> 40
            inside += x * x + y * y < 2**48
        return inside

    (out,) = launch("monte_carlo", 2, 40, 42, 50, zeros(80, dtype=I32))
    assert out.tolist() == [hits(i, 50) for i in range(80)]


def test_characters() -> None:
    text = "Hello, Wizard of Oz! (42)"
    (out,) = launch("caesar", 1, 32, np.frombuffer(text.encode(), np.uint8).copy(), len(text), 13)
    assert out.tobytes().decode() == "Uryyb, Jvmneq bs Bm! (42)"


def test_complex_products() -> None:
    a, b = random(20).standard_normal((2, 100, 2)).astype(F32)
    *_, out = launch("vector_types", 2, 64, a, b, zeros(100, 2), 100, kernel="complex_product")
    expected = (a[:, 0] + 1j * a[:, 1]) * (b[:, 0] + 1j * b[:, 1])
    np.testing.assert_allclose(out[:, 0] + 1j * out[:, 1], expected, rtol=1e-5, atol=1e-6)


def test_16_byte_vectors() -> None:
    v = random(21).integers(-9, 9, (40, 4), dtype=I32)
    d = random(22).random((40, 2))
    _, turned, _, norm = launch(
        "vector_types", 1, 64, v, np.zeros_like(v), d, np.zeros(40), 40, kernel="turn_lanes"
    )
    np.testing.assert_array_equal(turned, np.roll(v, 1, axis=1))
    np.testing.assert_allclose(norm, (d * d).sum(1), rtol=1e-15)


def test_packed_bytes() -> None:
    pixels = random(23).integers(0, 256, (50, 4), dtype=np.uint8)
    _, grey = launch("vector_types", 1, 64, pixels, zeros(50, dtype=np.uint8), 50, kernel="grey")
    np.testing.assert_array_equal(grey, pixels[:, :3].astype(int) @ [77, 150, 29] >> 8)
