"""Worker process of the fuzzer, so that a crash of the simulator does not end the run.

`run` starts it. It reads requests as lines of JSON, `{"seed": …, "faults": …}` or `{"case": …}`, and
writes one line of JSON for each.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from typing import Any

from tests.fuzz.case import Case, check
from tests.fuzz.generate import generate


def run_request(request: dict[str, Any]) -> dict[str, Any]:
    """Run the requested case; return its result as JSON values. An error of the fuzzer is kind `broken`."""
    try:
        case = (
            Case.from_dict(request["case"])
            if "case" in request
            else generate(request["seed"], request["faults"]).case()
        )
        result = check(case)
        return {
            "kind": result.kind,
            "detail": result.detail,
            "signature": result.signature,
            "seconds": result.seconds,
        }
    except Exception:  # noqa: BLE001 - errors of the fuzzer itself are reported too
        return {"kind": "broken", "detail": traceback.format_exc(), "signature": "", "seconds": {}}


def main() -> None:
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # output of kernels and libraries must not appear between the answers
    for line in sys.stdin:
        print(json.dumps(run_request(json.loads(line))), file=out, flush=True)


if __name__ == "__main__":
    main()
