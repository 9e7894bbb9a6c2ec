"""Errors of the performance model against published and measured times.

python -m benchmarks.model_accuracy [--measured N] [--picture FILE] [--json]
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.model_errors import Compared, measured_rows, named_alike, published_rows, summary
from benchmarks.model_picture import scatter
from gpulab.cli.options import add_json
from gpulab.views.terminal import Bar, say

__all__ = ["groups_of", "main"]

REPOSITORY = Path(__file__).parents[1]


def main(argv: Sequence[str] | None = None) -> int:
    """Model every published and measured launch and print the errors. Return exit code 0."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.model_accuracy", description=__doc__)
    parser.add_argument("--measured", type=int, metavar="N", help="model only N of the measured launches")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="write a scatter plot as SVG")
    add_json(parser)
    args = parser.parse_args(argv)

    with Bar("modelling"):
        rows = [*published_rows(REPOSITORY), *measured_rows(REPOSITORY, args.measured)]
    if args.picture:
        args.picture.write_text(scatter(rows), encoding="utf-8")
    groups = {name: some for name, some in groups_of(rows).items() if some}
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


def groups_of(rows: Sequence[Compared]) -> dict[str, list[Compared]]:
    """Return the rows of each summary line, by its label."""
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


if __name__ == "__main__":
    sys.exit(main())
