"""Equations for the counts of control flow edges."""

from __future__ import annotations

from gpulab.compiler.sass.flow_equations import END, FlowGraph

DIAMOND = [(0, 1), (0, 2), (1, 3), (2, 3), (3, END)]


def diamond() -> FlowGraph:
    graph = FlowGraph(DIAMOND)
    graph.add(graph.out(0, 10))
    for block in (1, 2, 3):
        graph.add(graph.out(block) - graph.into(block))
    return graph


def test_flow_is_conserved() -> None:
    graph = diamond()
    assert graph.value(graph.out(3)) == 10


def test_undetermined_count_is_none() -> None:
    graph = diamond()
    assert graph.value(graph.out(1)) is None


def test_count_follows_from_the_other_edge() -> None:
    graph = diamond()
    graph.add(graph.out(1, 4))
    assert graph.value(graph.out(2)) == 6


def test_contradictory_equation_is_refused() -> None:
    graph = diamond()
    assert not graph.add(graph.out(3, 11))


def test_contradictory_equation_changes_nothing() -> None:
    graph = diamond()
    graph.add(graph.out(3, 11))
    assert graph.value(graph.out(3)) == 10


def test_equation_that_makes_a_count_negative_is_refused() -> None:
    graph = diamond()
    assert not graph.add(graph.out(1, 11))
    assert graph.value(graph.out(1)) is None
    assert graph.add(graph.out(1, 10))


def test_edge_to_a_block_that_nothing_leaves_is_zero() -> None:
    graph = FlowGraph([(0, 1), (0, 2), (1, END), (2, END)])
    graph.add(graph.out(1))
    graph.propagate_zeros(0)
    assert graph.value(graph.edge(0, 1)) == 0


def test_edge_count_is_not_the_block_count() -> None:
    graph = diamond()
    assert graph.value(graph.edge(0, 1)) is None
