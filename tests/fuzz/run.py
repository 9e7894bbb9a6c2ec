"""Runs many cases in worker processes, keeps what fails, and makes it smaller.

python -m tests.fuzz --count 1000 --seed 0 --minutes 10 [--faults] [--reduce] [--jobs 1]
python -m tests.fuzz --seed 1234 --count 1 --show        the text of one program
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

from tests.fuzz.case import FAILURES, Case
from tests.fuzz.generate import generate
from tests.fuzz.reduce import reduced

__all__ = ["Worker", "main"]

ROOT = Path(__file__).parents[2]
LIMIT_S = 60.0  # for one case, compile included
CASES = 300  # of one worker, before a fresh one takes its place


class Worker:
    """A process that runs cases; it is replaced when it dies, hangs, or has done many."""

    def __init__(self, limit: float = LIMIT_S) -> None:
        self.limit = limit
        self.process: subprocess.Popen[str] | None = None
        self.done = 0
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
        threading.Thread(target=self.listen, args=(process, self.lines), daemon=True).start()
        self.done = 0
        return process

    @staticmethod
    def listen(process: subprocess.Popen[str], lines: queue.Queue[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            lines.put(line)
        lines.put("")  # it has ended

    def close(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            for pipe in (self.process.stdin, self.process.stdout):
                if pipe is not None:
                    pipe.close()
            self.process = None

    def run(self, asked: dict[str, Any]) -> dict[str, Any]:
        """The answer; kind `crash` or `hang` where none came."""
        if self.process is None or self.done >= CASES:
            self.close()
            self.process = self.start()
        self.done += 1
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(asked) + "\n")
            self.process.stdin.flush()
            line = self.lines.get(timeout=self.limit)
        except (queue.Empty, BrokenPipeError) as error:
            self.close()
            kind = "hang" if isinstance(error, queue.Empty) else "crash"
            return {"kind": kind, "detail": f"no answer after {self.limit:.0f} s", "sign": "", "seconds": {}}
        if not line:
            code = self.process.wait()
            self.close()
            return {"kind": "crash", "detail": f"the process ended with {code}", "sign": "", "seconds": {}}
        found: dict[str, Any] = json.loads(line)
        return found


def main(arguments: list[str] | None = None) -> int:
    """Run as asked on the command line; 1 when a case failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="cases to run")
    parser.add_argument("--seed", type=int, default=0, help="the first case's seed; the others follow")
    parser.add_argument("--minutes", type=float, default=0, help="stop after so long; 0: never")
    parser.add_argument("--jobs", type=int, default=1, help="worker processes")
    parser.add_argument("--faults", action="store_true", help="plant one fault in every program")
    parser.add_argument("--reduce", action="store_true", help="make what fails smaller (takes minutes each)")
    parser.add_argument("--show", action="store_true", help="print the programs instead of running them")
    parser.add_argument(
        "--keep", type=Path, default=ROOT / "fuzz-failures", help="where failures are written"
    )
    asked = parser.parse_args(arguments)
    seeds = range(asked.seed, asked.seed + asked.count)
    if asked.show:
        for seed in seeds:
            print(as_text(generate(seed, asked.faults).case()))
        return 0
    return _Run(asked).run(seeds)


class _Run:
    def __init__(self, asked: argparse.Namespace) -> None:
        self.asked = asked
        self.kinds: Counter[str] = Counter()
        self.seconds: Counter[str] = Counter()
        self.lock = threading.Lock()
        self.failed: list[int] = []
        self.start = time.monotonic()

    def run(self, seeds: range) -> int:
        waiting = iter(seeds)
        threads = [threading.Thread(target=self.work, args=(waiting,)) for _ in range(self.asked.jobs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.report()
        return 1 if self.failed else 0

    def work(self, waiting: Any) -> None:
        worker = Worker()
        while not self.late():
            with self.lock:
                seed = next(waiting, None)
            if seed is None:
                break
            found = worker.run({"seed": seed, "faults": self.asked.faults})
            self.note(seed, found, worker)
        worker.close()

    def late(self) -> bool:
        return 0 < self.asked.minutes * 60 < time.monotonic() - self.start

    def note(self, seed: int, found: dict[str, Any], worker: Worker) -> None:
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
        case = generate(seed, self.asked.faults).case()
        self.keep(f"{seed}", case, found)
        if self.asked.reduce:
            program = reduced(
                generate(seed, self.asked.faults), found, lambda c: worker.run({"case": c.as_dict()})
            )
            small = worker.run({"case": program.case().as_dict()})
            self.keep(f"{seed}-small", program.case(), small)
            print(as_text(program.case()), flush=True)

    def keep(self, name: str, case: Case, found: dict[str, Any]) -> None:
        self.asked.keep.mkdir(parents=True, exist_ok=True)
        place = self.asked.keep / f"{name}{'-faults' * self.asked.faults}.cu"
        place.write_text(
            f"{as_text(case)}// {found['kind']}: {found['detail'].strip()}\n".replace("\n// ", "\n// ")
        )
        place.with_suffix(".json").write_text(json.dumps(case.as_dict(), indent=1))
        print(f"    kept as {place}", flush=True)

    def report(self) -> None:
        total = sum(self.kinds.values())
        print(f"{total} cases in {time.monotonic() - self.start:.0f} s: " + ", ".join(
            f"{count} {kind}" for kind, count in self.kinds.most_common()))  # fmt: skip
        if total:
            each = ", ".join(f"{name} {spent / total * 1e3:.0f} ms" for name, spent in self.seconds.items())
            print(f"each: {each}")
        if self.failed:
            print("failed seeds:", *self.failed)


def as_text(case: Case) -> str:
    return (
        f"// seed {case.seed}, grid {case.grid}, block {case.block}, sm_{case.arch}, options {case.options}, "
        f"dynamic {case.dynamic}, independent {case.independent}, planted in line {case.planted}\n{case.source}"
    )
