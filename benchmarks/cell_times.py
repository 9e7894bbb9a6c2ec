"""Measure the time from running a kernel cell to its verdict and to its end, in JupyterLab.

python -m benchmarks.cell_times [--rounds N]

JupyterLab runs in Chromium with an empty cache of compiled code. The extension is loaded first, as the first
cell of a lab does. In each round the text of every cell is new, as after an edit: its kernel has another
constant that decides nothing. The verdict is measured to the first frame that shows it, and the end to the
frame that shows the number of the cell. The processor time is that of the notebook's kernel; other programs
on the machine change it less than the other times. The first round is a table of its own, because it contains
the first use of each part of gpulab.
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.__main__ import machine
from benchmarks.jupyterlab import notebook_page
from benchmarks.simulators.report import machine_line

psutil: Any = import_module("psutil")  # it is not typed

KERNELS = Path(__file__).parents[1] / "tests" / "kernels"
CELLS = {
    "naive": "stencil/right/naive_macros",
    "opt_1": "stencil/right/opt_1_halo_in_shared",
    "K1": "matmul/right/K1_pointer_walk",
    "K2": "matmul/right/K2_strip_of_c",
    "K6": "matmul/right/K6_register_tile",
}
REQUIRED_MS = {"verdict": 500.0, "whole cell": 1200.0}  # upper bounds on two idle cores
READING_MS = 4_000  # before the first kernel cell, which a student reads before running it
PAUSE_MS = 1_000  # between two cells
WAIT_MS = 180_000

# Gives a cell a new text, without output.
EDIT = """([number, text]) => {
    const cell = window.jupyterapp.shell.currentWidget.content.widgets[number];
    cell.model.sharedModel.setSource(text);
    cell.model.clearExecution();
}"""

# Waits for the key that runs the cell, then for the verdict and for the cell's number, up to the frame after
# each. It reads the page when it changes and not in every frame, because reading slows down the machine.
WATCH = """async ([cell]) => {
    const started = await new Promise(done =>
        addEventListener("keydown", event => event.key === "Enter" && done(performance.now()), true));
    const appeared = (test) => new Promise(done => {
        const observer = new MutationObserver(() => {
            if (!test()) return;
            observer.disconnect();
            requestAnimationFrame(() => done(performance.now() - started));
        });
        observer.observe(cell, {subtree: true, childList: true, characterData: true, attributes: true});
    });
    return await Promise.all([
        appeared(() => cell.querySelector(".jp-OutputArea .gp-good")),
        appeared(() => /\\[\\d+\\]/.test(cell.querySelector(".jp-InputPrompt").innerText)),
    ]);
}"""

QUANTITIES = (*REQUIRED_MS, "processor time")
Times = Mapping[str, Sequence[Sequence[float]]]  # by cell, the `QUANTITIES` of each round in ms


def cell_text(name: str, number: int) -> str:
    """Return a kernel cell whose text and code differ from those of each other number."""
    text = (KERNELS / f"{CELLS[name]}.cu").read_text(encoding="utf-8").removeprefix("// ")
    condition = f"if (gridDim.z == {1000 + number}) return;"
    return re.sub(r"(__global__[^{]*\{)", rf"\1 {condition}", text, count=1)


def kernel_below(process: Any) -> Any:
    """Return the kernel of a notebook among the descendants of a process."""
    children = process.children(recursive=True)
    return next(child for child in children if any("ipykernel" in word for word in child.cmdline()))


def processor_ms(process: Any) -> float:
    """Return the processor time of a process and its ended children."""
    return 1e3 * float(sum(process.cpu_times()[:4]))


def run_timed(page: Any, kernel: Any, number: int, text: str) -> Sequence[float]:
    """Run a cell with a new text. Return its `QUANTITIES`."""
    page.evaluate(EDIT, [number, text])
    cell = page.locator(".jp-CodeCell").nth(number)
    cell.scroll_into_view_if_needed()
    cell.locator(".cm-content").click(position={"x": 5, "y": 5})
    cell.locator(".cm-editor.cm-focused").wait_for(timeout=WAIT_MS)
    page.evaluate(f"arguments => {{ window.gpulabTimes = ({WATCH})(arguments); }}", [cell.element_handle()])
    before = processor_ms(kernel)
    page.keyboard.press("Control+Enter")
    cell.locator(".jp-InputPrompt", has_text=re.compile(r"\[\d+\]")).wait_for(timeout=WAIT_MS)
    times: list[float] = page.evaluate("async () => await window.gpulabTimes")
    page.wait_for_timeout(PAUSE_MS)
    return [*times, processor_ms(kernel) - before]


def measure(rounds: int) -> Times:
    """Return the times of the cells in each round."""
    times: dict[str, list[Sequence[float]]] = {name: [] for name in CELLS}
    with notebook_page(["%load_ext gpulab", *("" for _ in CELLS)], 1200) as (page, run_cell):
        run_cell(0)
        page.wait_for_timeout(READING_MS)
        kernel = kernel_below(psutil.Process())
        for number in range(rounds):
            for place, (name, measured) in enumerate(times.items(), start=1):
                measured.append(run_timed(page, kernel, place, cell_text(name, number)))
    return times


def table_of(times: Times, title: str) -> Table:
    """Return a table of the medians and maxima over rounds, with a row for each cell."""
    table = Table(title=f"{title} (measured, ms)", caption_justify="left")
    table.add_column("cell")
    for quantity in QUANTITIES:
        table.add_column(quantity, justify="right")
        table.add_column("most", justify="right")
    for name, rounds in times.items():
        columns = list(zip(*rounds, strict=True))
        figures = (figure for column in columns for figure in (statistics.median(column), max(column)))
        table.add_row(name, *(f"{figure:.0f}" for figure in figures))
    required = ", ".join(f"{quantity} {limit:g} ms" for quantity, limit in REQUIRED_MS.items())
    table.caption = f"Required on two idle cores: {required}."
    return table


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cell_times")
    parser.add_argument("--rounds", type=int, default=4, help="how often each cell runs with a new text")
    rounds = max(parser.parse_args(arguments).rounds, 2)
    times = measure(rounds)
    console = Console(width=120)
    console.print(table_of({name: each[:1] for name, each in times.items()}, "First cells of a session"))
    console.print(table_of({name: each[1:] for name, each in times.items()}, f"{rounds - 1} more rounds"))
    console.print(machine_line(machine()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
