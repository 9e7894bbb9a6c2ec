"""`python -m benchmarks.sliders`: from the release of an explorer's handle to the new point on the screen.

In a JupyterLab of its own, opened in Chromium: the handle is dragged with the mouse and let go; the time ends
with the first picture that shows the new point, its words and its figure. Each lab's explorer at its largest
size, and two rounds: at once after the explorer has its first point, when most blocks are not compiled yet,
and when the curve is complete, after the first compile of each.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import nbformat
from rich.console import Console
from rich.table import Table

from benchmarks.__main__ import machine
from benchmarks.report import machine_line

KERNELS = Path(__file__).parents[1] / "tests" / "kernels"
LABS = {
    "matmul": ("K4_two_columns", "K34_register_block"),
    "stencil": ("naive_pointer_walk", "opt_1_halo_from_global"),
}
BAR_MS = 500.0  # of the 95th percentile
PAUSE_S = 1.0  # a person looks at a point before the next move
WAIT_MS = 180_000

# Waits for the release of the mouse, then for words and a picture that are new; counts to the next frame.
# It looks when the page changes, not in every frame: looking takes a share of the two cores.
WATCH = """async ([output]) => {
    const words = () => output.querySelector(".gp-note").innerText;
    const layer = () => output.querySelector(".js-plotly-plot .cartesianlayer").innerHTML;
    const before = [words(), layer()];
    const released = await new Promise(done =>
        addEventListener("pointerup", () => done(performance.now()), {capture: true, once: true}));
    window.gpulabMoved = await new Promise(done => {
        const observer = new MutationObserver(() => {
            const said = words();
            if (said === before[0] || said.includes("…") || layer() === before[1]) return;
            observer.disconnect();
            requestAnimationFrame(() => done(performance.now() - released));
        });
        observer.observe(output, {subtree: true, childList: true, characterData: true, attributes: true});
        setTimeout(() => done(null), 20000);
    });
    return window.gpulabMoved;
}"""


@dataclass(frozen=True)
class Moves:
    """Milliseconds of one round's releases."""

    lab: str
    kernel: str
    phase: str
    times_ms: tuple[float, ...]

    @property
    def median_ms(self) -> float:
        return statistics.median(self.times_ms)

    @property
    def p95_ms(self) -> float:
        """The 95th percentile by nearest rank: of 20 times the second largest."""
        return sorted(self.times_ms)[math.ceil(0.95 * len(self.times_ms)) - 1]


@contextmanager
def notebook_page(lab: str, kernel: str) -> Iterator[tuple[Any, Any]]:
    """A page with the lab's explorer, and the output it stands in."""
    from playwright.sync_api import sync_playwright

    browsing: Any = import_module("tests.browser.conftest")  # tests have no types
    cells_of: Any = import_module("tests.browser.test_kernel_cell")

    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as home:
        text = (KERNELS / lab / "right" / f"{kernel}.cu").read_text(encoding="utf-8").removeprefix("// ")
        cells = ["%load_ext gpulab\nimport gpulab", text, f'gpulab.explore("{lab}")']
        formats: Any = nbformat.v4  # which has no types
        notebook = formats.new_notebook(
            cells=[formats.new_code_cell(cell) for cell in cells],
            metadata={"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
        )
        Path(folder, "explore.ipynb").write_text(formats.writes(notebook), encoding="utf-8")
        os.environ["GPULAB_CACHE"] = str(Path(home, "kernels"))  # nothing was compiled before
        jupyter = browsing.Lab(Path(folder), Path(home))
        try:
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=browsing.CHROMIUM, args=browsing.FLAGS)
                page = cells_of.open_page(jupyter, browser, "explore.ipynb", 1600)
                output = [cells_of.run_cell(page, number) for number in range(len(cells))][-1]
                output.locator(".js-plotly-plot .scatterlayer .point").first.wait_for(timeout=WAIT_MS)
                yield page, output
                browser.close()
        finally:
            jupyter.stop()


def one_move(page: Any, output: Any, name: str, rng: random.Random) -> float | None:
    """Drag a handle to another of its places; milliseconds from the release, None where nothing changed."""
    box = output.locator(f'.widget-inline-hbox:has(.widget-label:text-is("{name}"))')
    handle, track = box.locator(".noUi-handle"), box.locator(".noUi-base")
    handle.scroll_into_view_if_needed()
    here, whole = handle.bounding_box(), track.bounding_box()
    x, y = here["x"] + here["width"] / 2, here["y"] + here["height"] / 2
    reading = box.locator(".widget-readout")
    before = reading.inner_text()
    page.mouse.move(x, y)
    page.mouse.down()
    while reading.inner_text() == before:
        page.mouse.move(whole["x"] + rng.random() * whole["width"], y, steps=4)
    element = output.element_handle()
    page.evaluate(f"arguments => {{ window.gpulabMoving = ({WATCH})(arguments); }}", [element])
    page.mouse.up()
    found = page.evaluate("async () => await window.gpulabMoving")
    return None if found is None else float(found)


def measure(lab: str, kernel: str, moves: int, rng: random.Random) -> Iterator[Moves]:
    """Both rounds of one kernel."""
    with notebook_page(lab, kernel) as (page, output):
        for phase in ("while the curve is made", "when the curve is there"):
            if phase.startswith("when"):
                output.locator(".widget-button").wait_for(state="hidden", timeout=WAIT_MS)
            times: list[float] = []
            while len(times) < moves:
                took = one_move(page, output, "block", rng)
                times.append(20_000.0 if took is None else took)
                time.sleep(PAUSE_S)
            yield Moves(lab, kernel, phase, tuple(times))


def shown(found: list[Moves]) -> Table:
    table = Table(title=f"Release of a handle to the new point (ms); bar: 95 % under {BAR_MS:g}")
    for heading in ("lab", "kernel", "round", "moves", "median", "95 %", "most"):
        table.add_column(heading, justify="left" if heading in ("lab", "kernel", "round") else "right")
    for one in found:
        figures = (one.median_ms, one.p95_ms, max(one.times_ms))
        name = re.sub(r"_.*", "", one.kernel) if one.lab == "matmul" else one.kernel
        table.add_row(one.lab, name, one.phase, str(len(one.times_ms)), *(f"{ms:.0f}" for ms in figures))
    return table


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sliders", description=__doc__)
    parser.add_argument("--moves", type=int, default=20, help="releases in each round")
    parser.add_argument("--lab", choices=LABS, help="one lab only")
    options = parser.parse_args()
    console, rng = Console(), random.Random(0)  # noqa: S311  (the same moves every time)
    found: list[Moves] = []
    for lab in [options.lab] if options.lab else LABS:
        for kernel in LABS[lab]:
            for one in measure(lab, kernel, options.moves, rng):
                found.append(one)
                times = " ".join(f"{ms:.0f}" for ms in one.times_ms)
                console.print(f"{one.lab} {one.kernel}, {one.phase}: 95 % {one.p95_ms:.0f} ms of {times}")
    console.print(shown(found), machine_line(machine()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
