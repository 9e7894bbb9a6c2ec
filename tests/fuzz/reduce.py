"""Makes a program that fails smaller: greedily, as long as it goes on failing in the same way."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from tests.fuzz.case import Case
from tests.fuzz.generate import Program
from tests.fuzz.tree import Hole, bodies, statements

__all__ = ["reduced"]

Run = Callable[[Case], dict[str, Any]]  # a case -> what came of it
Change = Callable[[Program, int], bool]  # makes change number n; False where there is none


def reduced(program: Program, first: dict[str, Any], run: Run, most: int = 1500) -> Program:
    """The smallest program found, with at most `most` runs, that fails as the `first` run did."""
    left = most

    def fails(candidate: Program) -> bool:
        nonlocal left
        left -= 1
        found = run(candidate.case())
        return (found["kind"], found["sign"]) == (first["kind"], first["sign"])

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
                    program = candidate  # and the same number again: what followed has moved up
                else:
                    number += 1
    return program


def _simpler_launch(program: Program, number: int) -> bool:
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
    for body in bodies(program.body):
        for at, statement in enumerate(body):
            if not statement.needed and not any(s.needed for s in statements([statement])):
                if number == 0:
                    del body[at]
                    return True
                number -= 1
    return False


def _unwrapped(program: Program, number: int) -> bool:
    """One of a statement's inner bodies in its place."""
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
    """An inner body emptied."""
    for statement in statements(program.body):
        for at, part in enumerate(statement.parts):
            if isinstance(part, list) and part and not any(s.needed or s.planted for s in part):
                if number == 0:
                    statement.parts[at] = []
                    return True
                number -= 1
    return False


def _simpler_expression(program: Program, number: int) -> bool:
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
    """Simple values, and the expression's own parts; each shorter than what stands there."""
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
    """Where pairs of parentheses begin and end, outer ones first."""
    found, open_ = [], []
    for at, letter in enumerate(text):
        if letter == "(":
            open_.append(at)
        elif letter == ")" and open_:
            found.append((open_.pop(), at))
    return sorted(found)
