"""Greedy reduction of a failing program: changes are kept while the program fails in the same way."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from tests.fuzz.case import Case
from tests.fuzz.generate import Program
from tests.fuzz.tree import Hole, bodies, statements

__all__ = ["reduce_program"]

Run = Callable[[Case], dict[str, Any]]  # runs a case and returns its result
Change = Callable[[Program, int], bool]  # applies change number n in place; False if there is no such change


def reduce_program(program: Program, first: dict[str, Any], run: Run, most: int = 1500) -> Program:
    """Return the smallest program found in at most `most` runs that fails as the `first` run did."""
    left = most

    def fails(candidate: Program) -> bool:
        nonlocal left
        left -= 1
        result = run(candidate.case())
        return (result["kind"], result["signature"]) == (first["kind"], first["signature"])

    before = None
    while before != (now := program.case()):
        before = now
        for change in (_simpler_launch, _without_statement, _unwrapped, _without_part, _simpler_expression):
            number = 0
            while left > 0:
                candidate = copy.deepcopy(program)
                if not change(candidate, number):
                    break
                if fails(candidate):
                    program = candidate  # later changes have moved up, so the same number is tried again
                else:
                    number += 1
    return program


def _simpler_launch(program: Program, number: int) -> bool:
    """Replace one launch option by its default."""
    launch = program.launch
    options = [
        replace(launch, options=()), replace(launch, arch=90), replace(launch, independent=True),
        *(replace(launch, data=seed) for seed in range(1)),
    ]  # fmt: skip
    options = [o for o in options if o != launch]
    if number >= len(options):
        return False
    program.launch = options[number]
    return True


def _without_statement(program: Program, number: int) -> bool:
    """Remove one statement."""
    for body in bodies(program.body):
        for at, statement in enumerate(body):
            if not statement.needed and not any(s.needed for s in statements([statement])):
                if number == 0:
                    del body[at]
                    return True
                number -= 1
    return False


def _unwrapped(program: Program, number: int) -> bool:
    """Replace a statement by one of its inner bodies."""
    for body in bodies(program.body):
        for at, statement in enumerate(body):
            inner = [part for part in statement.parts if isinstance(part, list)]
            if statement.needed or statement.planted:
                continue
            for part in inner:
                if number == 0:
                    body[at : at + 1] = part
                    return True
                number -= 1
    return False


def _without_part(program: Program, number: int) -> bool:
    """Empty one inner body."""
    for statement in statements(program.body):
        for at, part in enumerate(statement.parts):
            if isinstance(part, list) and part and not any(s.needed or s.planted for s in part):
                if number == 0:
                    statement.parts[at] = []
                    return True
                number -= 1
    return False


def _simpler_expression(program: Program, number: int) -> bool:
    """Replace one expression by a simpler one."""
    for statement in statements(program.body):
        for hole in statement.parts:
            if isinstance(hole, Hole):
                for text in _simpler(hole):
                    if number == 0:
                        hole.text = text
                        return True
                    number -= 1
    return False


def _simpler(hole: Hole) -> Iterator[str]:
    """Yield simple values, then parts of the expression itself; each is shorter than the expression."""
    if hole.text in hole.simple:
        yield from hole.simple[: hole.simple.index(hole.text)]
        return
    yield from hole.simple
    seen = {hole.text}
    for start, end in _parentheses(hole.text):
        inside = hole.text[start : end + 1]
        for text in (inside, f"{hole.text[:start]}({hole.simple[-1]}){hole.text[end + 1 :]}"):
            if len(text) < len(hole.text) and text not in seen:
                seen.add(text)
                yield text


def _parentheses(text: str) -> list[tuple[int, int]]:
    """Return the start and end of each pair of parentheses, outer pairs first."""
    pairs, open_ = [], []
    for at, letter in enumerate(text):
        if letter == "(":
            open_.append(at)
        elif letter == ")" and open_:
            pairs.append((open_.pop(), at))
    return sorted(pairs)
