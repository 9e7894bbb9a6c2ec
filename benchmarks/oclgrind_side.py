"""The process that runs under `oclgrind`: it answers one JSON line for each line it is asked.

`{"prepare": kernel, "size": edge}` builds and uploads; `{"run": true}` launches once, looks at the values,
and gives the launch's seconds.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
import pyopencl as cl

from benchmarks.workloads import WORKLOADS


def answers(questions: Any, out: Any) -> None:
    platform = next((p for p in cl.get_platforms() if p.name == "Oclgrind"), None)
    if platform is None:
        print(json.dumps({"error": "pyopencl does not find the platform"}), file=out, flush=True)
        return
    context = cl.Context(platform.get_devices())
    queue = cl.CommandQueue(context)
    print(json.dumps({"version": platform.version}), file=out, flush=True)
    for line in questions:
        question = json.loads(line)
        answer = 0.0
        if "prepare" in question:
            work = next(w for w in WORKLOADS if w.kernel == question["prepare"])
            launch = replace(work, size=question["size"]).launch
            program = cl.Program(context, work.file(".cl").read_text(encoding="utf-8")).build()
            kernel = getattr(program, work.kernel)
            flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
            arguments = [
                cl.Buffer(context, flags, hostbuf=a) if isinstance(a, np.ndarray) else a
                for a in launch.arguments
            ]
            kernel.set_args(*arguments)
            items = tuple(g * b for g, b in zip(launch.grid, launch.block, strict=True))
        else:
            start = perf_counter()
            cl.enqueue_nd_range_kernel(queue, kernel, items, launch.block)
            queue.finish()
            answer = perf_counter() - start
            got = np.empty(launch.expected.shape, np.float32)
            cl.enqueue_copy(queue, got, arguments[launch.output])
            launch.check(got, "Oclgrind")
        print(json.dumps({"seconds": answer}), file=out, flush=True)


if __name__ == "__main__":
    # What Oclgrind finds goes to its own output, which must not mix with the answers.
    answer_to = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    answers(sys.stdin, answer_to)
