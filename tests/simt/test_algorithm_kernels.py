"""Kernels that sort, search and link against plain Python: many branches, few barriers."""

from __future__ import annotations

import zlib
from collections import deque
from itertools import pairwise

import numpy as np

from tests.simt.programs import launch, random

F32 = np.float32
I32 = np.int32
U32 = np.uint32


def zeros(*shape: int, dtype: type = I32) -> np.ndarray:
    return np.zeros(shape, dtype)


def test_merge_of_two_sorted_arrays() -> None:
    a, b = (np.sort(random(n).integers(0, 500, n, dtype=I32)) for n in (701, 333))
    *_, out = launch("merge_path", 3, 64, a, len(a), b, len(b), zeros(1034))
    np.testing.assert_array_equal(out, np.sort(np.concatenate([a, b])))


def test_radix_sort_by_single_bits() -> None:
    x = random(1).integers(0, 2**32, (4, 211), dtype=U32)
    (out,) = launch("radix_sort_bits", 4, 256, x, 211, kernel="sort_rows")
    np.testing.assert_array_equal(out, np.sort(x, axis=1))


def test_digit_counts_by_warp() -> None:
    x = random(2).integers(0, 2**32, 1234, dtype=U32)
    _, count = launch("radix_sort_bits", 3, 96, x, zeros(16), len(x), 8, kernel="count_digits")
    np.testing.assert_array_equal(count, np.bincount(x >> 8 & 15, minlength=16))


def test_quicksort_in_every_thread() -> None:
    x = random(3).integers(0, 99, (100, 33), dtype=I32)
    (out,) = launch("quicksort_stack", 2, 64, x, 33, 100)
    np.testing.assert_array_equal(out, np.sort(x, axis=1))


def test_eight_queens() -> None:
    (total,) = launch("n_queens", 2, 40, zeros(1), 8)
    assert total[0] == 92


def random_graph(nodes: int, edges: int, seed: int) -> tuple[np.ndarray, list[list[int]]]:
    """Return random edges, and the neighbours of each node."""
    pairs = random(seed).integers(0, nodes, (edges, 2), dtype=I32)
    neighbours: list[list[int]] = [[] for _ in range(nodes)]
    for a, b in pairs.tolist():
        neighbours[a].append(b)
        neighbours[b].append(a)
    return pairs, neighbours


def test_breadth_first_search() -> None:
    nodes = 500
    _, neighbours = random_graph(nodes, 900, 4)
    expected = [-1] * nodes
    expected[0] = 0
    queue = deque([0])
    while queue:
        node = queue.popleft()
        for other in neighbours[node]:
            if expected[other] < 0:
                expected[other] = expected[node] + 1
                queue.append(other)

    start = np.cumsum([0] + [len(n) for n in neighbours]).astype(I32)
    flat = np.array([other for n in neighbours for other in n], I32)
    distance, frontier, size, level = np.full(nodes, -1, I32), zeros(nodes), 1, 0
    distance[0] = 0
    while size:
        level += 1
        _, _, distance, _, frontier, count = launch(
            "breadth_first_search",
            *(-(-size // 32), 32),
            *(start, flat, distance, frontier, size, zeros(nodes), zeros(1), level),
        )
        size = int(count[0])
    assert distance.tolist() == expected


def test_connected_components() -> None:
    nodes = 400
    pairs, neighbours = random_graph(nodes, 300, 5)
    parent, _ = launch("union_find", 5, 64, np.arange(nodes, dtype=I32), pairs, 300, kernel="unite")
    (parent,) = launch("union_find", 7, 64, parent, nodes, kernel="label")
    expected = [-1] * nodes
    for root in range(nodes):
        work = [root] if expected[root] < 0 else []
        while work:
            node = work.pop()
            if expected[node] < 0:
                expected[node] = root  # the smallest node of its component
                work += neighbours[node]
    assert parent.tolist() == expected


def test_shortest_paths() -> None:
    n = 31
    length = random(6).integers(1, 1000, (n, n), dtype=I32)
    np.fill_diagonal(length, 0)
    expected = length.copy()
    for by in range(n):
        expected = np.minimum(expected, expected[:, by : by + 1] + expected[by])
    (out,) = launch("floyd_warshall", 1, 128, length, n, kernel="all_pairs", shared_mem=4 * n * n)
    np.testing.assert_array_equal(out, expected)

    edges = np.array([(i, j, length[i, j]) for i in range(n) for j in range(n)], I32)
    distance, changed = np.full(n, 10**6, I32), True
    distance[0] = 0
    while changed:
        _, distance, flag = launch(
            "floyd_warshall", 11, 96, edges, len(edges), distance, zeros(1), kernel="relax"
        )
        changed = bool(flag[0])
    np.testing.assert_array_equal(distance, expected[0])


def test_hash_table() -> None:
    room, n = 509, 400
    key = random(7).integers(0, 300, n, dtype=U32)  # with duplicates
    value = random(8).permutation(n).astype(U32)
    table, *_ = launch(
        "hash_table", 4, 128, np.full(room, 2**64 - 1, np.uint64), room, key, value, n, kernel="insert"
    )
    queries = np.arange(350, dtype=U32)
    *_, values = launch("hash_table", 6, 64, table, room, queries, zeros(350), 350, kernel="look_up")
    expected = [max(value[key == k].tolist(), default=-1) for k in queries]
    assert values.tolist() == expected


def test_linked_list_with_concurrent_pushes() -> None:
    n = 100
    out, length = launch("linked_list", 1, 128, zeros(256), zeros(1), n)
    assert sorted(out[: length[0]].tolist()) == [10 * i for i in range(n) if i % 3 != 1]


def test_producer_and_consumer_warps() -> None:
    x = random(9).integers(0, 999, (3, 21, 32), dtype=I32)
    _, out = launch("producer_consumer", 3, 64, x, np.zeros_like(x), 21)
    np.testing.assert_array_equal(out, 2 * x[:, :, ::-1])


def test_persistent_warps() -> None:
    sizes = random(10).integers(0, 200, 77)
    start = np.cumsum([0, *sizes]).astype(I32)
    x = random(11).integers(-99, 99, start[-1], dtype=I32)
    *_, total = launch("persistent_warps", 2, 96, zeros(1), start, x, zeros(77), 77)
    assert total.tolist() == [x[a:b].sum() for a, b in pairwise(start)]


def test_warp_aggregated_atomics() -> None:
    n = 210
    key = random(12).integers(0, 7, n, dtype=I32)
    _, drawn, ticket = launch("warp_aggregated", 4, 64, key, zeros(7), zeros(n), n)
    np.testing.assert_array_equal(drawn, np.bincount(key, minlength=7))
    for k in range(7):
        assert sorted(ticket[key == k].tolist()) == list(range(drawn[k]))


def test_cooperative_groups() -> None:
    n, blocks = 229, 4
    x = random(16).integers(1, 100, n, dtype=I32)
    tiles, places = zeros(-(-n // 8)), zeros(n)
    _, tiles, total, places = launch("cooperative_tiles", blocks, 64, x, tiles, zeros(blocks), places, n)
    padded = np.concatenate([x, zeros(64 * blocks - n)])
    np.testing.assert_array_equal(total, padded.reshape(blocks, 64).sum(1))
    np.testing.assert_array_equal(tiles, padded.reshape(-1, 8).sum(1)[: len(tiles)])
    odd = padded.reshape(-1, 32) % 2 == 1
    expected = np.where(odd, 100 * odd.sum(1, keepdims=True) + np.cumsum(odd, axis=1) - 1, 0)
    np.testing.assert_array_equal(places, expected.reshape(-1)[:n])


def test_sequence_alignment() -> None:
    na, nb, pairs = 33, 41, 3
    a = random(13).integers(0, 4, na, dtype=np.uint8)
    b = random(14).integers(0, 4, (pairs, nb), dtype=np.uint8)
    room = 4 * (na + 1) * (nb + 1)
    *_, score = launch("sequence_alignment", pairs, 48, a, b, na, nb, zeros(pairs), shared_mem=room)

    def expected(other: list[int]) -> int:
        row = [-2 * j for j in range(nb + 1)]
        for i, letter in enumerate(a.tolist(), 1):
            last, row = row, [-2 * i]
            for j in range(1, nb + 1):
                match = last[j - 1] + (1 if letter == other[j - 1] else -1)
                row.append(max(match, last[j] - 2, row[j - 1] - 2))
        return row[-1]

    assert score.tolist() == [expected(row) for row in b.tolist()]


TEXT = b"abracadabra abra cab " * 9


def test_text_search() -> None:
    text = np.frombuffer(TEXT, np.uint8).copy()
    _, place, count = launch("text_search", 4, 64, text, len(text), zeros(99), zeros(1), kernel="find")
    expected = [i for i in range(len(TEXT)) if TEXT.startswith(b"abra", i)]
    assert sorted(place[: count[0]].tolist()) == expected


def test_word_count() -> None:
    text = np.frombuffer(TEXT, np.uint8).copy()
    _, count = launch("text_search", 5, 50, text, len(text), zeros(1), kernel="count_words")
    assert count[0] == len(TEXT.split())


def test_crc_32() -> None:
    messages = random(15).integers(0, 256, (70, 37), dtype=np.uint8)
    _, crc = launch("text_search", 2, 48, messages, 37, zeros(70, dtype=U32), 70, kernel="crc32")
    assert crc.tolist() == [zlib.crc32(m.tobytes()) for m in messages]
