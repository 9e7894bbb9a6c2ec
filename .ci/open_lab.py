"""Run `make lab` and end it once JupyterLab serves the puzzles, without their solutions."""

import subprocess
import sys
import time
import urllib.request
from pathlib import Path

PORT = 8931
PAGE = f"http://127.0.0.1:{PORT}/api/contents/03_puzzles/puzzles.ipynb"
LIMIT_S = 180

options = f"--no-browser --ServerApp.port={PORT} --ServerApp.port_retries=0 --IdentityProvider.token="
server = subprocess.Popen(["make", "lab", "LAB=03_puzzles", f"ARGS={options}"])
try:
    for _ in range(2 * LIMIT_S):
        time.sleep(0.5)
        if server.poll() is not None:
            sys.exit("make lab ended")
        try:
            urllib.request.urlopen(PAGE, timeout=5)
        except OSError:
            continue
        break
    else:
        sys.exit(f"make lab did not answer within {LIMIT_S} s")
    if "BEGIN SOLUTION" in Path("my-labs/03_puzzles/puzzles.ipynb").read_text(encoding="utf-8"):
        sys.exit("make lab opened a notebook with solutions")
finally:
    server.terminate()
    server.wait()
print("make lab: JupyterLab serves the puzzles")
