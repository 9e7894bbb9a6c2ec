"""Runs cases that come in as lines of JSON, one after the other; a crash of it is a crash of the simulator.

Started by `run`; in goes `{"seed": …, "faults": …}` or `{"case": …}`, out comes one line of JSON for each.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from typing import Any

from tests.fuzz.case import Case, check
from tests.fuzz.generate import generate


def answer(asked: dict[str, Any]) -> dict[str, Any]:
    try:
        case = Case.of(asked["case"]) if "case" in asked else generate(asked["seed"], asked["faults"]).case()
        result = check(case)
        return {"kind": result.kind, "detail": result.detail, "sign": result.sign, "seconds": result.seconds}
    except Exception:  # noqa: BLE001 - the fuzzer's own mistakes are to be seen too
        return {"kind": "broken", "detail": traceback.format_exc(), "sign": "", "seconds": {}}


def main() -> None:
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # nothing that a kernel or a library prints comes between the answers
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), file=out, flush=True)


if __name__ == "__main__":
    main()
