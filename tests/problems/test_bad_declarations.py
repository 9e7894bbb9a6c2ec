"""Declarations with facts of a wrong form: each is refused in one sentence with its line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpulab.errors import ProblemError
from gpulab.problems import Problem, load_problems

TEXT = """\
import numpy as np
from gpulab.problems import *

problem = Problem(
    "scale",
    arguments=(Output("y", ("n",)), Input("x", ("n",)), Scalar("f", (1.5, 3.0)), "n"),
    sizes={"n": 1 << 20},
    reference=lambda x, f: f * x,
    error_bound=lambda x, f: gamma(1) * f * abs(x),
    steps=(Step("naive", "x"), Step("other", "y", requirements=(Requirement("barriers", at_least=1),))),
)
"""
Y, X, F = 'Output("y", ("n",))', 'Input("x", ("n",))', 'Scalar("f", (1.5, 3.0))'
LAST = "    steps=("


@pytest.fixture(autouse=True)
def no_other_labs(no_labs: None) -> None:
    """Let every test load its own file."""


def made(folder: Path, old: str, new: str) -> Problem:
    assert TEXT.count(old) == 1
    path = folder / "problem.py"
    path.write_text(TEXT.replace(old, new), encoding="utf-8")
    declared = load_problems(path)["scale"]
    case = declared.make_case((50,), np.random.default_rng(0))
    list(declared.mistakes(case))
    return declared


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('{"n": 1 << 20}', '["n"]', "`sizes` must name at least one size, as in"),
        ('{"n": 1 << 20}', "{}", "`sizes` must name at least one size, as in"),
        (Y, 'Output("y", ("n",), initial="zero")', "`initial` of y must be a number of type float32"),
        (
            Y,
            'Output("y", ("n",), dtype="uint8", initial=-1)',
            "`initial` of y must be a number of type uint8",
        ),
        ("f * x,", "print(end=''),", "the reference returned None"),
        ("lambda x, f: gamma(1) * f * abs(x)", "0", "and the bound is 0. Declare `error_bound`"),
        ("import numpy as np", "raise SystemExit(3)", "line 1: SystemExit: 3"),
        ('    "scale",', '    "scale"', "invalid syntax. Perhaps you forgot a comma."),
        ("1 << 20", '"many"', "a size must be a whole number; it is 'many'"),
        ("1 << 20", "0", "The size is n."),
        ("1 << 20", "Size.among()", "a size needs at least one extent"),
        ("1 << 20", "Size(10, 2.5)", "a size must be a whole number; it is 2.5"),
        (Y, 'Output("y", lambda n: (n / 3,))', "an extent must be a whole number"),
        (Y, 'Output("y", None)', "the extents must be a tuple"),
        (X, 'Input("x", ("n",), values=3)', "`values` of x must be two numbers"),
        (X, 'Input("x", ("n",), values=(5, 1))', "the smaller one first"),
        (X, 'Input("x", ("n",), c_type="float4")', "the last extent of x, an array of float4, must be 4"),
        (F, 'Scalar("f", "a")', "`values` of f must be two numbers"),
        ("f * x,", "1j * x,", "the reference returned complex numbers"),
        ("lambda x, f: gamma(1) * f * abs(x)", '"small"', "the error bound must be a number or a function"),
        ('Step("naive", "x")', '"naive"', "`steps` must be a tuple of Step; it has 'naive'"),
        ("at_least=1", 'at_least="1"', "the limit on barriers must be a number or a function"),
        ('"y", req', '"y", shared=-4, req', "`shared` of other is -4 bytes"),
        ('"y", req', '"y", shared="4", req', "`shared` of other must be a whole number"),
        ('"y", req', '"y", block=(64, 64), req', "the block of other has 4,096 threads"),
        ('"y", req', '"y", par=(3,), req', "`par` of other must be a tuple of Requirement"),
        (LAST, f"    block=(0, 1),\n{LAST}", "`block` must be one to three numbers of at least 1"),
        (LAST, f"    tile=(-1,),\n{LAST}", "`tile` must be one to three numbers of at least 0"),
        (LAST, f'    flops="many",\n{LAST}', "`flops` must be a number or a function"),
        (LAST, f"    work=lambda n: 0,\n{LAST}", "`work` must be at least 1"),
        (LAST, f"    grid=lambda n: n / 256 + 0.5,\n{LAST}", "what `grid` returns must be a whole number"),
        (LAST, f"    published={{'a': 3}},\n{LAST}", "each entry of `published` must be a table"),
        ('"n"),\n', "7),\n", "`arguments` must be a tuple of Input or Output or Scalar or str; it has 7"),
    ],
)
def test_fact_of_a_wrong_form_is_refused_with_its_line(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    with pytest.raises(ProblemError, match=r"^problem\.py, line \d+: ") as caught:
        made(tmp_path, old, new)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("1 << 20", "1e6"),
        (Y, 'Output("y", "n")'),
        (Y, 'Output("y", lambda n: n)'),
        (X, 'Input("x", ("n",), dtype=np.float32)'),
        (F, 'Scalar("f", [1.5, 3.0])'),
        ('(Requirement("barriers", at_least=1),)', 'Requirement("barriers", at_least=1)'),
        ('"y", req', '"y", block=64, req'),
        (LAST, f"    tile=(4, 1),\n{LAST}"),
        (LAST, f"    grid=4,\n{LAST}"),
        (LAST, f"    written=lambda n: slice(0, n),\n{LAST}"),
    ],
)
def test_fact_in_a_shorter_form_is_accepted(tmp_path: Path, old: str, new: str) -> None:
    declared = made(tmp_path, old, new)
    assert all(len(declared.block_of(step)) == 3 for step in declared.variants)
    assert len(declared.grid((50,), declared.default_block, declared.default_tile)) == 3
