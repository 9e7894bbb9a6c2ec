"""Print the errors of the performance model against published and measured times.

python -m benchmarks.model_accuracy [--measured N] [--picture FILE] [--json]
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.model_errors import TimeComparison, measured_rows, published_rows, same_bound, summarise
from benchmarks.model_picture import scatter
from gpulab.cli.options import add_json
from gpulab.views.terminal import Bar, say

__all__ = ["groups_of", "main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Model every published and measured launch and print the errors. Return exit code 0."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.model_accuracy", description=__doc__)
    parser.add_argument("--measured", type=int, metavar="N", help="model only N of the measured launches")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="write a scatter plot as SVG")
    add_json(parser)
    args = parser.parse_args(argv)

    with Bar("modelling"):
        rows = [*published_rows(), *measured_rows(args.measured)]
    if args.picture:
        args.picture.write_text(scatter(rows), encoding="utf-8")
    groups = {name: members for name, members in groups_of(rows).items() if members}
    if args.json:
        say(_as_json(rows, groups))
        return 0

    for row in rows:
        times = f"{row.reference_ms:>10.4g} ms {row.modelled_ms:>10.4g} ms"
        say(f"{row.gpu:<8}{row.label:<46}{row.kind:<9}{times} {row.error:>+7.0%}  {row.bound}")
    for name, members in groups.items():
        errors, (same, measured) = summarise(members), same_bound(members)
        text = (
            f"{name}: {errors.count} times, mean error {errors.mean:.1%}, largest error {errors.worst:.0%}, "
            f"Kendall's tau {errors.tau:.3f}"
        )
        if measured:
            text += f", same bound as Nsight Compute in {same} of {measured} ({same / measured:.1%})"
        say(text, "bold")
    return 0


def groups_of(rows: Sequence[TimeComparison]) -> dict[str, list[TimeComparison]]:
    """Return the rows of each summary line, by its label."""
    published = [row for row in rows if row.gpu != "h200"]
    k1_to_k4 = [row for row in published if row.variant not in ("Ks", "K5")]
    h200 = [row for row in rows if row.gpu == "h200"]
    return {
        "t10, K1 to K4 (fitted)": [row for row in k1_to_k4 if row.gpu == "t10"],
        "gtx280, K1 to K4 (predicted)": [row for row in k1_to_k4 if row.gpu == "gtx280"],
        "both, K1 to K4, the kernel alone": [row for row in k1_to_k4 if row.kind == "kernel"],
        "both, with Ks and K5": published,
        "h200": h200,
        "h200, half of the kernels": [row for row in h200 if row.fitted],
        "h200, the other half": [row for row in h200 if not row.fitted],
        "h200, stencil": [row for row in h200 if row.problem == "stencil"],
        "h200, matmul": [row for row in h200 if row.problem == "matmul"],
    }


def _as_json(rows: Sequence[TimeComparison], groups: dict[str, list[TimeComparison]]) -> str:
    return json.dumps(
        {
            "rows": [asdict(row) | {"error": row.error} for row in rows],
            "summaries": {name: asdict(summarise(members)) for name, members in groups.items()},
            "same_bound": {name: same_bound(members) for name, members in groups.items()},
        },
        indent=2,
    )


if __name__ == "__main__":
    sys.exit(main())
