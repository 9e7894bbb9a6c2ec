"""Measure the time from the release of an explorer's slider to the new point on the screen.

python -m benchmarks.sliders [--moves N] [--lab LAB]

The slider is dragged with the mouse in a JupyterLab that runs in Chromium. The time ends with the first frame
that shows the new point, its text and its figure. Each lab's explorer is measured at its largest size, in two
rounds: directly after its first point, when most block sizes are not compiled yet, and after the curve is
complete.
"""

from __future__ import annotations

import argparse
import math
import random
import re
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.__main__ import machine
from benchmarks.jupyterlab import notebook_page
from benchmarks.simulators.report import machine_line

KERNELS = Path(__file__).parents[1] / "tests" / "kernels"
LABS = {
    "matmul": ("K4_two_columns", "K34_register_block"),
    "stencil": ("naive_pointer_walk", "opt_1_halo_from_global"),
}
REQUIRED_MS = 500.0  # upper bound of the 95th percentile
PAUSE_S = 1.0  # between two moves, while a person would look at the point
WAIT_MS = 180_000
TIMEOUT_MS = 20_000.0  # of one move

# Waits for the release of the mouse and then for a new text and a new figure, up to the frame after them. It
# reads the page when it changes and not in every frame, because reading slows down the machine.
WATCH = """async ([output]) => {
    const text = () => output.querySelector(".gp-note").innerText;
    const layer = () => output.querySelector(".js-plotly-plot .cartesianlayer").innerHTML;
    const before = [text(), layer()];
    const released = await new Promise(done =>
        addEventListener("pointerup", () => done(performance.now()), {capture: true, once: true}));
    window.gpulabMoved = await new Promise(done => {
        const observer = new MutationObserver(() => {
            const current = text();
            if (current === before[0] || current.includes("…") || layer() === before[1]) return;
            observer.disconnect();
            requestAnimationFrame(() => done(performance.now() - released));
        });
        observer.observe(output, {subtree: true, childList: true, characterData: true, attributes: true});
        setTimeout(() => done(null), 20000);
    });
    return window.gpulabMoved;
}"""


@dataclass(frozen=True)
class SliderMoves:
    """Milliseconds from release to new point, for the moves of one round."""

    lab: str
    kernel: str
    phase: str
    times_ms: tuple[float, ...]

    @property
    def median_ms(self) -> float:
        return statistics.median(self.times_ms)

    @property
    def p95_ms(self) -> float:
        """The 95th percentile by nearest rank: the second largest of 20 times."""
        return sorted(self.times_ms)[math.ceil(0.95 * len(self.times_ms)) - 1]


@contextmanager
def explorer_page(lab: str, kernel: str) -> Iterator[tuple[Any, Any]]:
    """Open a notebook with the lab's explorer. Yield the page and the output that contains it."""
    text = (KERNELS / lab / "right" / f"{kernel}.cu").read_text(encoding="utf-8").removeprefix("// ")
    cells = ["%load_ext gpulab\nimport gpulab", text, f'gpulab.explore("{lab}")']
    with notebook_page(cells, 1600) as (page, run_cell):
        output = [run_cell(number) for number in range(len(cells))][-1]
        output.locator(".js-plotly-plot .scatterlayer .point").first.wait_for(timeout=WAIT_MS)
        yield page, output


def one_move(page: Any, output: Any, name: str, rng: random.Random) -> float | None:
    """Drag a slider to another position. Return the milliseconds from its release, or None."""
    box = output.locator(f'.widget-inline-hbox:has(.widget-label:text-is("{name}"))')
    handle, track = box.locator(".noUi-handle"), box.locator(".noUi-base")
    handle.scroll_into_view_if_needed()
    knob, range_ = handle.bounding_box(), track.bounding_box()
    x, y = knob["x"] + knob["width"] / 2, knob["y"] + knob["height"] / 2
    reading = box.locator(".widget-readout")
    before = reading.inner_text()
    page.mouse.move(x, y)
    page.mouse.down()
    while reading.inner_text() == before:
        page.mouse.move(range_["x"] + rng.random() * range_["width"], y, steps=4)
    element = output.element_handle()
    page.evaluate(f"arguments => {{ window.gpulabMoving = ({WATCH})(arguments); }}", [element])
    page.mouse.up()
    milliseconds = page.evaluate("async () => await window.gpulabMoving")
    return None if milliseconds is None else float(milliseconds)


def measure(lab: str, kernel: str, moves: int, rng: random.Random) -> Iterator[SliderMoves]:
    """Yield both rounds of one kernel."""
    with explorer_page(lab, kernel) as (page, output):
        for phase in ("before the curve is complete", "after the curve is complete"):
            if phase.startswith("after"):
                output.locator(".widget-button").wait_for(state="hidden", timeout=WAIT_MS)
            times: list[float] = []
            while len(times) < moves:
                milliseconds = one_move(page, output, "block", rng)
                times.append(TIMEOUT_MS if milliseconds is None else milliseconds)
                time.sleep(PAUSE_S)
            yield SliderMoves(lab, kernel, phase, tuple(times))


def table_of(rounds: list[SliderMoves]) -> Table:
    """Return a table with a row per round."""
    table = Table(title=f"From release to new point (ms); required: 95 % under {REQUIRED_MS:g}")
    for heading in ("lab", "kernel", "round", "moves", "median", "95 %", "most"):
        table.add_column(heading, justify="left" if heading in ("lab", "kernel", "round") else "right")
    for one in rounds:
        figures = (one.median_ms, one.p95_ms, max(one.times_ms))
        name = re.sub(r"_.*", "", one.kernel) if one.lab == "matmul" else one.kernel
        table.add_row(one.lab, name, one.phase, str(len(one.times_ms)), *(f"{ms:.0f}" for ms in figures))
    return table


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sliders", description=__doc__)
    parser.add_argument("--moves", type=int, default=20, help="moves in each round")
    parser.add_argument("--lab", choices=LABS, help="measure one lab only")
    options = parser.parse_args()
    console, rng = Console(), random.Random(0)  # noqa: S311  (the moves must be reproducible)
    rounds: list[SliderMoves] = []
    for lab in [options.lab] if options.lab else LABS:
        for kernel in LABS[lab]:
            for one in measure(lab, kernel, options.moves, rng):
                rounds.append(one)
                times = " ".join(f"{ms:.0f}" for ms in one.times_ms)
                console.print(f"{one.lab} {one.kernel}, {one.phase}: 95 % {one.p95_ms:.0f} ms of {times}")
    console.print(table_of(rounds), machine_line(machine()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
