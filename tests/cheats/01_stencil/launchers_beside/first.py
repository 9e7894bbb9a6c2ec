import os
from pathlib import Path

os.environ["PATH"] = f"{Path.cwd()}:{os.environ['PATH']}"
os.environ["LD_PRELOAD"] = str(Path("evil.so").absolute())
