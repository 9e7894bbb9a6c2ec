"""The command line as `python -m gpulab`."""

from __future__ import annotations

import sys

from gpulab.cli import main

if __name__ == "__main__":
    sys.exit(main())
