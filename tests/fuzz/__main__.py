"""Entry point of `python -m tests.fuzz`; `tests.fuzz.run` documents the options."""

from __future__ import annotations

import sys

from tests.fuzz.run import main

if __name__ == "__main__":
    sys.exit(main())
