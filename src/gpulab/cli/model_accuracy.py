"""`gpulab model-accuracy`: the performance model beside published and measured times."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from gpulab.cli.options import add_json
from gpulab.terminal import Bar, say

if TYPE_CHECKING:
    from gpulab.evidence.accuracy import Compared

__all__ = ["add_commands"]


def add_commands(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `model-accuracy`."""
    parser = subparsers.add_parser(
        "model-accuracy", help="the performance model beside published and measured times"
    )
    parser.add_argument(
        "--repository", type=Path, default=Path(), metavar="DIR", help="gpulab's own repository"
    )
    parser.add_argument("--measured", type=int, metavar="N", help="only N of the measured launches")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="write a scatter as SVG")
    add_json(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Exit code 0."""
    from gpulab.evidence.accuracy import measured_rows, named_alike, published_rows, summary

    with Bar("modelling"):
        rows: list[Compared] = [
            *published_rows(args.repository),
            *measured_rows(args.repository, args.measured),
        ]
    if args.picture:
        from gpulab.notebook.accuracy_picture import scatter

        args.picture.write_text(scatter(rows), encoding="utf-8")
    groups = {name: some for name, some in _groups(rows).items() if some}
    if args.json:
        say(
            json.dumps(
                {
                    "rows": [asdict(row) | {"error": row.error} for row in rows],
                    "summaries": {gpu: asdict(summary(some)) for gpu, some in groups.items()},
                    "bound_named_alike": {name: named_alike(some) for name, some in groups.items()},
                },
                indent=2,
            )
        )
        return 0
    for row in rows:
        say(
            f"{row.gpu:<8}{row.label:<46}{row.kind:<9}{row.known_ms:>10.4g} ms {row.modelled_ms:>10.4g} ms "
            f"{row.error:>+7.0%}  {row.bound}"
        )
    for name, some in groups.items():
        found, (alike, asked) = summary(some), named_alike(some)
        bound = f", bound as Nsight Compute says in {alike} of {asked} ({alike / asked:.1%})" if asked else ""
        say(
            f"{name}: {found.count} times, error {found.mean:.1%} on the mean, {found.worst:.0%} at worst, "
            f"Kendall's tau {found.tau:.3f}{bound}",
            "bold",
        )
    return 0


def _groups(rows: Sequence[Compared]) -> dict[str, list[Compared]]:
    """Rows that are summed up together, by what to call them."""
    published = [row for row in rows if row.gpu != "h200"]
    ladder = [row for row in published if row.variant not in ("Ks", "K5")]
    h200 = [row for row in rows if row.gpu == "h200"]
    return {
        "t10, K1 to K4 (fitted)": [row for row in ladder if row.gpu == "t10"],
        "gtx280, K1 to K4 (predicted)": [row for row in ladder if row.gpu == "gtx280"],
        "both, K1 to K4, the kernel alone": [row for row in ladder if row.kind == "kernel"],
        "both, with Ks and K5": published,
        "h200": h200,
        "h200, half of the kernels (fitted)": [row for row in h200 if row.fitted],
        "h200, the other half (held out)": [row for row in h200 if not row.fitted],
        "h200, stencil": [row for row in h200 if row.problem == "stencil"],
        "h200, matmul": [row for row in h200 if row.problem == "matmul"],
    }
