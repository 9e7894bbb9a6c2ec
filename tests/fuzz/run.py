"""Runner of the fuzzer: executes many cases in worker processes, saves the failures and reduces them.

python -m tests.fuzz --count 1000 --seed 0 --minutes 10 [--faults] [--reduce] [--jobs 1]
python -m tests.fuzz --seed 1234 --count 1 --show        print the text of one program
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.fuzz.case import FAILURES, Case
from tests.fuzz.generate import generate
from tests.fuzz.reduce import reduce_program

__all__ = ["Worker", "main"]

ROOT = Path(__file__).parents[2]
LIMIT_S = 60.0  # seconds for one case, including its compilation
CASES = 300  # cases that a worker process runs before it is replaced, which bounds its memory


class Worker:
    """A process that runs cases. It is replaced when it crashes, hangs, or has run `CASES` cases."""

    def __init__(self, limit: float = LIMIT_S) -> None:
        self.limit = limit
        self.process: subprocess.Popen[str] | None = None
        self.cases_run = 0
        self.lines: queue.Queue[str] = queue.Queue()

    def start(self) -> subprocess.Popen[str]:
        paths = [str(ROOT), os.environ.get("PYTHONPATH", ""), str(ROOT / "src")]
        environment = {
            **os.environ,
            "GPULAB_CACHE": "off",
            "PYTHONPATH": os.pathsep.join(p for p in paths if p),
        }
        process = subprocess.Popen(
            [sys.executable, "-X", "faulthandler", "-m", "tests.fuzz.worker"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment, cwd=ROOT,
        )  # fmt: skip
        self.lines = queue.Queue()
        threading.Thread(target=self.forward_lines, args=(process, self.lines), daemon=True).start()
        self.cases_run = 0
        return process

    @staticmethod
    def forward_lines(process: subprocess.Popen[str], lines: queue.Queue[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            lines.put(line)
        lines.put("")  # an empty line marks the end of the process

    def close(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            for pipe in (self.process.stdin, self.process.stdout):
                if pipe is not None:
                    pipe.close()
            self.process = None

    def run(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the worker's answer, or one of kind `crash` or `hang` if none arrives."""
        if self.process is None or self.cases_run >= CASES:
            self.close()
            self.process = self.start()
        self.cases_run += 1
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            line = self.lines.get(timeout=self.limit)
        except (queue.Empty, BrokenPipeError) as error:
            self.close()
            kind = "hang" if isinstance(error, queue.Empty) else "crash"
            return _no_answer(kind, f"no answer after {self.limit:.0f} s")
        if not line:
            code = self.process.wait()
            self.close()
            return _no_answer("crash", f"the process ended with exit status {code}")
        answer: dict[str, Any] = json.loads(line)
        return answer


def _no_answer(kind: str, detail: str) -> dict[str, Any]:
    return {"kind": kind, "detail": detail, "signature": "", "seconds": {}}


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return exit status 1 if a case failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="number of cases")
    parser.add_argument(
        "--seed", type=int, help="seed of the first case; later cases count up (default: a new one)"
    )
    parser.add_argument("--minutes", type=float, default=0, help="time limit in minutes; 0 means none")
    parser.add_argument("--jobs", type=int, default=1, help="number of worker processes")
    parser.add_argument("--faults", action="store_true", help="plant one fault in every program")
    parser.add_argument("--reduce", action="store_true", help="reduce failing programs (minutes for each)")
    parser.add_argument("--show", action="store_true", help="print the programs instead of running them")
    parser.add_argument(
        "--keep", type=Path, default=ROOT / "fuzz-failures", help="folder that failures are written to"
    )
    options = parser.parse_args(arguments)
    first = random.randrange(10**9) if options.seed is None else options.seed
    seeds = range(first, first + options.count)
    if options.show:
        for seed in seeds:
            print(case_text(generate(seed, options.faults).case()))
        return 0
    print(f"{options.count} cases from seed {first}", flush=True)
    return _Run(options).run(seeds)


class _Run:
    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.kinds: Counter[str] = Counter()
        self.seconds: Counter[str] = Counter()
        self.lock = threading.Lock()
        self.failed: list[int] = []
        self.start = time.monotonic()

    def run(self, seeds: range) -> int:
        remaining = iter(seeds)
        threads = [
            threading.Thread(target=self.run_cases, args=(remaining,)) for _ in range(self.options.jobs)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.report()
        return 1 if self.failed else 0

    def run_cases(self, seeds: Iterator[int]) -> None:
        worker = Worker()
        while not self.time_is_up():
            with self.lock:
                seed = next(seeds, None)
            if seed is None:
                break
            found = worker.run({"seed": seed, "faults": self.options.faults})
            self.record_result(seed, found, worker)
        worker.close()

    def time_is_up(self) -> bool:
        return 0 < self.options.minutes * 60 < time.monotonic() - self.start

    def record_result(self, seed: int, found: dict[str, Any], worker: Worker) -> None:
        with self.lock:
            self.kinds[found["kind"]] += 1
            self.seconds.update(found["seconds"])
        if found["kind"] in ("same", "same fault"):
            return
        print(f"seed {seed}: {found['kind']}: {found['detail'].strip()[:500]}", flush=True)
        if found["kind"] not in (*FAILURES, "broken"):
            return
        with self.lock:
            self.failed.append(seed)
        case = generate(seed, self.options.faults).case()
        self.save_failure(f"{seed}", case, found)
        if self.options.reduce:
            program = reduce_program(
                generate(seed, self.options.faults), found, lambda c: worker.run({"case": c.as_dict()})
            )
            small = worker.run({"case": program.case().as_dict()})
            self.save_failure(f"{seed}-small", program.case(), small)
            print(case_text(program.case()), flush=True)

    def save_failure(self, name: str, case: Case, found: dict[str, Any]) -> None:
        self.options.keep.mkdir(parents=True, exist_ok=True)
        path = self.options.keep / f"{name}{'-faults' * self.options.faults}.cu"
        path.write_text(
            f"{case_text(case)}// {found['kind']}: {found['detail'].strip()}\n".replace("\n// ", "\n// ")
        )
        path.with_suffix(".json").write_text(json.dumps(case.as_dict(), indent=1))
        print(f"    saved as {path}", flush=True)

    def report(self) -> None:
        total = sum(self.kinds.values())
        print(f"{total} cases in {time.monotonic() - self.start:.0f} s: " + ", ".join(
            f"{count} {kind}" for kind, count in self.kinds.most_common()))  # fmt: skip
        if total:
            each = ", ".join(f"{name} {spent / total * 1e3:.0f} ms" for name, spent in self.seconds.items())
            print(f"each: {each}")
        if self.failed:
            print("failed seeds:", *self.failed)


def case_text(case: Case) -> str:
    return (
        f"// seed {case.seed}, grid {case.grid}, block {case.block}, sm_{case.arch}, options {case.options}, "
        f"dynamic {case.dynamic}, independent {case.independent}, planted in line {case.planted}\n{case.source}"
    )
