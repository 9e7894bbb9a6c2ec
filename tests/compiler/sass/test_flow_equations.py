"""Counts of jumps from equations."""

from __future__ import annotations

from gpulab.compiler.sass.flow_equations import END, Graph

DIAMOND = [(0, 1), (0, 2), (1, 3), (2, 3), (3, END)]


def diamond() -> Graph:
    graph = Graph(DIAMOND)
    graph.add(graph.out(0, 10))
    for block in (1, 2, 3):
        graph.add(graph.out(block) - graph.into(block))
    return graph


def test_what_comes_in_goes_out() -> None:
    graph = diamond()
    assert graph.value(graph.out(3)) == 10


def test_a_way_that_nothing_is_known_of_stays_open() -> None:
    graph = diamond()
    assert graph.value(graph.out(1)) is None


def test_one_way_follows_from_the_other() -> None:
    graph = diamond()
    graph.add(graph.out(1, 4))
    assert graph.value(graph.out(2)) == 6


def test_a_contradiction_is_refused() -> None:
    graph = diamond()
    assert not graph.add(graph.out(3, 11))


def test_a_contradiction_changes_nothing() -> None:
    graph = diamond()
    graph.add(graph.out(3, 11))
    assert graph.value(graph.out(3)) == 10


def test_a_block_that_nothing_leaves_is_entered_by_nothing() -> None:
    graph = Graph([(0, 1), (0, 2), (1, END), (2, END)])
    graph.add(graph.out(1))
    graph.close(0)
    assert graph.value(graph.edge(0, 1)) == 0


def test_a_jump_is_not_a_whole_block() -> None:
    graph = diamond()
    assert graph.value(graph.edge(0, 1)) is None
