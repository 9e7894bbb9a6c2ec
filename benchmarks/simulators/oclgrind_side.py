"""Process that runs a workload under `oclgrind`. It answers each JSON request with one line.

`{"prepare": kernel, "size": edge}` builds and uploads. `{"run": true}` launches once, checks the values and
returns the seconds of the launch.
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

from benchmarks.simulators.workloads import WORKLOADS


def answer_requests(requests: Any, out: Any) -> None:
    """Answer requests, one per line, until the input ends."""
    platform = next((p for p in cl.get_platforms() if p.name == "Oclgrind"), None)
    if platform is None:
        print(json.dumps({"error": "pyopencl does not find Oclgrind's platform"}), file=out, flush=True)
        return
    context = cl.Context(platform.get_devices())
    queue = cl.CommandQueue(context)
    print(json.dumps({"version": platform.version}), file=out, flush=True)
    for line in requests:
        request = json.loads(line)
        seconds = 0.0
        if "prepare" in request:
            workload = next(w for w in WORKLOADS if w.kernel == request["prepare"])
            launch = replace(workload, size=request["size"]).launch
            program = cl.Program(context, workload.file(".cl").read_text(encoding="utf-8")).build()
            kernel = getattr(program, workload.kernel)
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
            seconds = perf_counter() - start
            result = np.empty(launch.expected.shape, np.float32)
            cl.enqueue_copy(queue, result, arguments[launch.output])
            launch.check(result, "Oclgrind")
        print(json.dumps({"seconds": seconds}), file=out, flush=True)


if __name__ == "__main__":
    # Oclgrind prints its findings to standard output, which would mix with the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    answer_requests(sys.stdin, answers)
