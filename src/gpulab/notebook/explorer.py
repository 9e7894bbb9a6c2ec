"""The explorer's page: handles, figure, words, progress bar, and what happens when one of them is moved."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import ipywidgets as widgets
from IPython.display import display

from gpulab.cell import KernelCell
from gpulab.devices import open_device
from gpulab.devices.base import Device
from gpulab.exploration.scheduler import Exploration, Task
from gpulab.exploration.search_space import Setting, blocks, nearest, neighbours, sizes, tiles
from gpulab.gpus.catalogue import GpuSpec
from gpulab.notebook.explore import gpus, start
from gpulab.notebook.explore_curve import Curve, curve_of
from gpulab.notebook.explore_figure import CLASS, STYLE, ExplorerFigure
from gpulab.notebook.explore_still import still_view
from gpulab.notebook.explore_text import block_name, point_view, tile_name, waiting_view
from gpulab.problems import Shape
from gpulab.problems import problem as problem_named
from gpulab.problems.base import Block, Problem
from gpulab.views.html import View
from gpulab.views.theme import STYLE as PAGE_STYLE

__all__ = ["Explorer"]

PERIOD_S = 0.4  # between two drawings of points that nobody waits for
# The still picture below the sliders is for where they are not: it is hidden as long as they are there.
HIDDEN = f".jp-OutputArea:has(.{CLASS}) .gp-still{{display:none}}"

_Call = Callable[[Callable[[], None]], None]


class Explorer:
    """Sliders and their figure; shown when it is a cell's value.

    cells: kernels by variant; cells_now: the same as they are by now, when a cell was run again.
    call: runs a function on the kernel's own thread.
    """

    def __init__(
        self,
        cells: dict[str, KernelCell],
        device: Device,
        *,
        cells_now: Callable[[], dict[str, KernelCell]],
        call: _Call,
    ) -> None:
        self._cells, self._cells_now, self._device = cells, cells_now, device
        self._quiet = False
        self._filling = self._shown = False
        self._drawn_s = 0.0
        self._due = False
        self._picture: Any = None
        self._kept: Curve | None = None
        self.setting = start(list(cells.values())[-1], device)
        self.exploration = Exploration(lambda setting: call(lambda: self._heard(setting)))
        self.figure = ExplorerFigure()
        self._handles()
        self._draw()
        self._look()

    # -- what others may use ------------------------------------------------------------------------

    @property
    def spec(self) -> GpuSpec:
        """The GPU that is chosen."""
        spec: GpuSpec = open_device(self.setting.device).spec
        return spec

    @property
    def curve(self) -> Curve:
        """What is drawn now."""
        known = self.exploration
        return curve_of(self.setting, self.spec, self._own_block, known.points, known.checked, self._beside)

    @property
    def words(self) -> str:
        """What is said of the point where the handles stand, as HTML."""
        return str(self._words.value)

    def handle(self, description: str) -> Any:
        """The widget with this word beside it: kernel, block, tile, size or GPU."""
        return next(one for one in self._all_handles() if one.description == description)

    def cancel(self, _: object = None) -> None:
        """Leave the rest of the curve as it is."""
        self.exploration.cancel()
        self._filling = False
        self._progress()

    def end(self) -> None:
        """Stop all work: the cell is run again, or the kernel ends."""
        from IPython import get_ipython

        self.exploration.end()
        shell = get_ipython()
        if shell is not None and self._shown:
            shell.events.unregister("post_run_cell", self._cells_may_have_changed)
            self._shown = False

    def _ipython_display_(self) -> None:
        from IPython import get_ipython

        data = self.box._repr_mimebundle_()
        data["text/plain"] = "Sliders: run this cell in JupyterLab or Notebook 7 to move them."
        display(data, raw=True)
        self._picture = display(self._still(), display_id=True)
        shell = get_ipython()
        if shell is not None and not self._shown:
            shell.events.register("post_run_cell", self._cells_may_have_changed)
            self._shown = True

    # -- the page -----------------------------------------------------------------------------------

    def _handles(self) -> None:
        def slim(**more: Any) -> dict[str, Any]:
            layout = widgets.Layout(width="100%", max_width="46em")
            return {"style": {"description_width": "4.5em"}, "layout": layout, **more}

        def slider(description: str) -> widgets.SelectionSlider:
            return widgets.SelectionSlider(
                description=description, **slim(options=[""], continuous_update=False)
            )

        self._kernel = widgets.Dropdown(description="kernel", **slim(options=list(self._cells)))
        self._gpu = widgets.Dropdown(description="GPU", **slim(options=gpus(self._device)))
        self._block, self._tile, self._size = slider("block"), slider("tile"), slider("size")
        self._words = widgets.HTML()
        self._bar = widgets.IntProgress(description="blocks", style={"description_width": "4.5em"})
        self._done = widgets.Label()
        self._cancel = widgets.Button(description="cancel", tooltip="leave the rest of the curve")
        self._cancel.on_click(self.cancel)
        for handle in self._all_handles():
            handle.observe(self._moved, "value")
        self.box = widgets.VBox(
            [
                widgets.HTML(f"<style>{PAGE_STYLE}{STYLE}{HIDDEN}</style>"),
                *self._all_handles(),
                self._words,
                self.figure.widget,
                widgets.HBox([self._bar, self._done, self._cancel]),
            ],
        )
        self.box.add_class(CLASS)
        self.box.add_class("gpulab")

    def _all_handles(self) -> tuple[Any, ...]:
        return self._kernel, self._block, self._tile, self._size, self._gpu

    def _offer(self) -> None:
        """Put the choices of the present kernel, size and GPU on the handles."""
        here = self.setting
        known = problem_named(here.problem)
        with self._silence():
            _choices(self._kernel, [(name, name) for name in self._cells], here.variant)
            _choices(self._gpu, gpus(self._device), here.device)
            found = [(block_name(block), block) for block in blocks(here, self.spec, self._own_block)]
            _choices(self._block, found, here.block)
            _choices(self._tile, [(tile_name(tile), tile) for tile in tiles(self._own())], here.tile)
            shapes = [(_size_name(known, shape), shape) for shape in sizes(here.problem)]
            _choices(self._size, shapes, here.shape)
        self._tile.layout.display = "none" if len(self._tile.options) < 2 else None

    def _own(self) -> KernelCell:
        return self._cells[self.setting.variant]

    @property
    def _own_block(self) -> Block:
        return self._own().config.block

    def _moved(self, change: dict[str, Any]) -> None:
        if self._quiet:
            return
        self._cells = self._cells_now() or self._cells
        chosen: str = self._kernel.value
        cell = self._cells.get(chosen) or self._own()
        if change["owner"] is self._kernel or cell.source != self.setting.cell.source:
            moved = Setting(cell, self._size.value, self._gpu.value)
        else:
            there = cell.with_geometry(self._block.value, self._tile.value)
            moved = Setting(there, self._size.value, self._gpu.value)
        self._go(moved)

    def _go(self, setting: Setting) -> None:
        """Stand at another setting, with the nearest block that is legal there."""
        own = self._cells[setting.variant].config.block
        legal = blocks(setting.at(block=own), open_device(setting.device).spec, own)
        if legal and setting.block not in legal:
            setting = setting.at(block=nearest(setting.block, legal))
        self.setting = setting
        self._look()

    def _look(self) -> None:
        """Show the point of the handles, or ask for it; then the rest of its curve."""
        known = self.exploration.now(self.setting)
        if self._beside:
            self.exploration.now(Setting(self.setting.cell, self.setting.shape, self._beside))
        if known is not None:
            self._draw()
        else:
            self._say()
        self._offer()
        self.exploration.fill(self._tasks())
        self._filling = True
        self._progress()

    def _tasks(self) -> list[Task]:
        """What to do in the background: the curve, then what another handle's move may ask for."""
        here = self.setting
        curve = neighbours(here, self.spec, self._own_block)
        modelled = [Setting(one.cell, one.shape, self._beside) for one in curve] if self._beside else []
        if here.device.startswith("cuda"):
            return [*(Task(one, check=True) for one in curve), *(Task(one, check=False) for one in modelled)]
        known = [here.at(tile=tile) for _, tile in self._tile.options]
        known += [Setting(here.cell, shape, here.device) for _, shape in self._size.options]
        others = [Setting(here.cell, here.shape, device) for _, device in self._gpu.options]
        return [
            *(Task(one, check=False) for one in (*curve, *known)),
            *(Task(one, check=True) for one in curve),
            *(Task(one, check=False) for one in others if one.device.startswith("sim")),
        ]

    @property
    def _beside(self) -> str:
        """The simulator's name of the GPU that measures, where the catalogue has it."""
        measured = self.setting.device.startswith("cuda")
        return f"sim:{self.spec.key}" if measured and self.spec.key else ""

    def _heard(self, setting: Setting) -> None:
        """There is a point, or its values were checked."""
        if setting == self.setting:
            self._draw()
        elif setting.shape == self.setting.shape and not self._due:
            self._due = True
            wait = max(0.0, self._drawn_s + PERIOD_S - time.monotonic())
            _later(wait, self._draw_due)
        self._progress()

    def _draw_due(self) -> None:
        if self._due:
            self._draw()

    def _draw(self) -> None:
        self._due = False
        self.figure.show(self.curve)
        self._say()
        self._drawn_s = time.monotonic()

    def _say(self) -> None:
        point = self.exploration.points.get(self.setting)
        if point is None:
            view = waiting_view(self.setting)
        else:
            beside = self.exploration.points.get(Setting(self.setting.cell, self.setting.shape, self._beside))
            view = point_view(
                self.setting, point, checked=self.setting in self.exploration.checked, beside=beside
            )
        self._words.value = f'<div class="gpulab">{view.html}</div>'

    def _progress(self) -> None:
        curve = neighbours(self.setting, self.spec, self._own_block)
        timed = sum(one in self.exploration.points for one in curve)
        checked = sum(one in self.exploration.checked for one in curve)
        self._bar.max, self._bar.value = 2 * len(curve), timed + checked
        self._done.value = f"{timed} of {len(curve)} timed, {checked} checked"
        over = checked == len(curve) or not self._filling
        for part in (self._bar, self._done, self._cancel):
            part.layout.display = "none" if over else None
        if over:
            self._keep_still()

    # -- the picture for where no sliders are ---------------------------------------------------------

    def _keep_still(self) -> None:
        curve = self.curve
        if self._picture is not None and curve != self._kept:
            self._kept = curve
            self._picture.update(self._still())

    def _still(self) -> View:
        view = still_view(self.curve)
        return View(f'<div class="gp-still">{view.html}</div>', view.text)

    def _cells_may_have_changed(self, *_: object) -> None:
        """A kernel cell was run again: its new text is what the handles are for."""
        now = self._cells_now()
        if now and now != self._cells:
            self._cells = now
            cell = now.get(self.setting.variant) or list(now.values())[-1]
            if cell.source != self.setting.cell.source:
                self._go(Setting(cell, self.setting.shape, self.setting.device))
            else:
                self._offer()

    @contextmanager
    def _silence(self) -> Iterator[None]:
        """Handles that are moved from here ask for nothing."""
        self._quiet = True
        try:
            yield
        finally:
            self._quiet = False


def _choices(handle: Any, options: Any, value: object) -> None:
    """Other options, without a change in between that anybody sees."""
    options = tuple(options)
    if value not in [one for _, one in options]:
        options = (*options, (tile_name(value) if isinstance(value, tuple) else str(value), value))
    if tuple(handle.options) != options:
        with handle.hold_sync():
            handle.options = options
            handle.value = value
    elif handle.value != value:
        handle.value = value


def _size_name(known: Problem, shape: Shape) -> str:
    """As the problem writes it; one number where all are the same."""
    return str(shape[0]) if len(set(shape)) == 1 else known.format_shape(shape)


def _later(wait_s: float, work: Callable[[], None]) -> None:
    import asyncio

    asyncio.get_event_loop().call_later(wait_s, work)
