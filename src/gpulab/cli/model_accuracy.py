"""`gpulab model-accuracy`: the performance model beside published and measured times."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from gpulab.cli.options import add_json
from gpulab.terminal import Bar, say

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
    from gpulab.evidence.accuracy import Compared, measured_rows, named_alike, published_rows, summary

    with Bar("modelling"):
        rows: list[Compared] = [
            *published_rows(args.repository),
            *measured_rows(args.repository, args.measured),
        ]
    if args.picture:
        from gpulab.notebook.accuracy_picture import scatter

        args.picture.write_text(scatter(rows), encoding="utf-8")
    groups = {
        gpu: [
            row
            for row in rows
            if (row.gpu == gpu and row.variant not in ("Ks", "K5")) or row.gpu == gpu == "h200"
        ]
        for gpu in dict.fromkeys(row.gpu for row in rows)
    }
    alike, asked = named_alike(rows)
    if args.json:
        say(
            json.dumps(
                {
                    "rows": [asdict(row) | {"error": row.error} for row in rows],
                    "summaries": {gpu: asdict(summary(some)) for gpu, some in groups.items()},
                    "bound_named_alike": [alike, asked],
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
    for gpu, some in groups.items():
        found = summary(some)
        how = "fitted" if some[0].fitted else "predicted"
        say(
            f"{gpu} ({how}): {found.count} times, error {found.mean:.1%} on the mean, {found.worst:.0%} at "
            f"worst, Kendall's tau {found.tau:.3f}",
            "bold",
        )
    say(f"what bounds it: as Nsight Compute names it in {alike} of {asked}", "bold")
    return 0
