"""The explorer's widgets: sliders, figure, text and progress bar, and what a moved slider does."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import anywidget
import ipywidgets as widgets
from IPython import get_ipython
from IPython.display import display

from gpulab.cell import KernelCell
from gpulab.devices import open_device
from gpulab.devices.base import Device
from gpulab.exploration.scheduler import Exploration, Task
from gpulab.exploration.search_space import (
    Candidate,
    blocks,
    first_candidate,
    gpu_choices,
    nearest,
    neighbours,
    sizes,
    tiles,
)
from gpulab.gpus.catalogue import GpuSpec
from gpulab.notebook.sliders.explore_curve import Curve, curve_of
from gpulab.notebook.sliders.explore_figure import CLASS, STYLE, ExplorerFigure
from gpulab.notebook.sliders.explore_still import still_view
from gpulab.notebook.sliders.explore_text import point_view, tile_name, waiting_view
from gpulab.problems.base import Block, Problem, Shape
from gpulab.views.html import View
from gpulab.views.tables.number_format import block_name
from gpulab.views.theme import STYLE as PAGE_STYLE

__all__ = ["Explorer"]

PERIOD_S = 0.4  # shortest time between two drawings of points that were not requested
LABEL_STYLE = {"description_width": "4.5em"}
# The static picture below the sliders is for pages without widgets; it is hidden where the sliders are.
HIDDEN = f".jp-OutputArea:has(.{CLASS}) .gp-still{{display:none}}"


class _OwnKeys(anywidget.AnyWidget):
    """An invisible widget with which the box around it can be operated from the keyboard.

    Without it, an arrow key in a list moves the notebook to another cell, and sliders have no name for
    screen readers.
    """

    _esm = f"""function render({{ el }}) {{
        const box = el.closest(".{CLASS}");
        if (!box) return void requestAnimationFrame(() => render({{ el }}));
        box.addEventListener("keydown", event => event.stopPropagation());
        box.addEventListener("focusin", ({{ target }}) => {{
            const label = target.closest(".widget-inline-hbox")?.querySelector(".widget-label");
            if (label) target.setAttribute("aria-label", label.textContent);
        }});
    }}
    export default {{ render }};"""


_Call = Callable[[Callable[[], None]], None]


class Explorer:
    """Sliders and their figure; shown when it is the value of a cell.

    Parameters
    ----------
    cells : dict of str to KernelCell
        The kernels by variant.
    device : Device
        The session's device.
    current_cells : callable
        Returns `cells` as they are when it is called, because cells may run again.
    call : callable
        Calls a function on the kernel's main thread.
    """

    def __init__(
        self,
        cells: dict[str, KernelCell],
        device: Device,
        *,
        current_cells: Callable[[], dict[str, KernelCell]],
        call: _Call,
    ) -> None:
        self._cells, self._current_cells, self._device = cells, current_cells, device
        self._ignore_changes = self._ended = False
        self._filling = self._shown = self._drawing_due = False
        self._drawn_s = 0.0
        self._display: Any = None
        self._stored_curve: Curve | None = None
        self.candidate = first_candidate(list(cells.values())[-1], device)
        self.exploration = Exploration(lambda candidate: call(lambda: self._receive(candidate)))
        self.figure = ExplorerFigure()
        self._build_widgets()
        self._draw()
        self._request()

    @property
    def spec(self) -> GpuSpec:
        """The selected GPU."""
        spec: GpuSpec = open_device(self.candidate.device).spec
        return spec

    @property
    def curve(self) -> Curve:
        """The data of the figure."""
        exploration = self.exploration
        return curve_of(
            self.candidate,
            self.spec,
            self._cell_block,
            exploration.points,
            exploration.checked,
            self._model_device,
        )

    @property
    def text(self) -> str:
        """The text about the selected point, as HTML."""
        return str(self._text.value)

    def control(self, label: str) -> Any:
        """Return the widget with this label: kernel, block, tile, size or GPU."""
        return next(widget for widget in self._controls if widget.description == label)

    def cancel(self, _: object = None) -> None:
        """Stop the background work; the curve stays as it is."""
        self.exploration.cancel()
        self._filling = False
        self._show_progress()

    def end(self) -> None:
        """Stop all work and close the widgets, because the cell runs again or the kernel ends.

        ipywidgets keeps every open widget, and these refer to the explorer with its compiled kernels.
        """
        self._ended = True
        self.exploration.end()
        shell = get_ipython()
        if shell is not None and self._shown:
            shell.events.unregister("post_run_cell", self._update_cells)
            self._shown = False
        _close(self.box)

    def _ipython_display_(self) -> None:
        data = self.box._repr_mimebundle_()
        data["text/plain"] = "Sliders: run this cell in JupyterLab or Notebook 7 to move them."
        display(data, raw=True)
        self._display = display(self._still(), display_id=True)
        shell = get_ipython()
        if shell is not None and not self._shown:
            shell.events.register("post_run_cell", self._update_cells)
            self._shown = True

    # -- widgets ------------------------------------------------------------------------------------

    def _build_widgets(self) -> None:
        def control(kind: Any, label: str, **options: Any) -> Any:
            layout = widgets.Layout(width="auto")
            return kind(description=label, style=LABEL_STYLE, layout=layout, **options)

        def slider(label: str) -> Any:
            return control(widgets.SelectionSlider, label, options=[""], continuous_update=False)

        self._kernel = control(widgets.Dropdown, "kernel", options=list(self._cells))
        self._gpu = control(widgets.Dropdown, "GPU", options=gpu_choices(self._device))
        self._block, self._tile, self._size = slider("block"), slider("tile"), slider("size")
        self._controls = (self._kernel, self._block, self._tile, self._size, self._gpu)
        for widget in self._controls:
            widget.observe(self._on_change, "value")

        self._text = widgets.HTML()
        self._bar = widgets.IntProgress(description="blocks", style=LABEL_STYLE)
        self._done = widgets.Label()
        self._cancel = widgets.Button(description="cancel", tooltip="do not complete the curve")
        self._cancel.on_click(self.cancel)
        self.box = widgets.VBox(
            [
                widgets.HTML(f"<style>{PAGE_STYLE}{STYLE}{HIDDEN}</style>"),
                # Two columns, so that controls and figure fit on a screen of 720 pixels.
                widgets.GridBox(
                    [self._kernel, self._block, self._gpu, self._tile, self._size],
                    layout=widgets.Layout(grid_template_columns="repeat(2, minmax(0, 1fr))", width="100%"),
                ),
                self._text,
                self.figure.widget,
                _OwnKeys(layout=widgets.Layout(display="none")),
                widgets.HBox([self._bar, self._done, self._cancel]),
            ],
        )
        self.box.add_class(CLASS)
        self.box.add_class("gpulab")

    def _offer_choices(self) -> None:
        """Offer the blocks, tiles, sizes and GPUs of the selected kernel."""
        candidate, cell = self.candidate, self._cells[self.candidate.config.variant]
        problem = candidate.config.problem
        legal = blocks(candidate, self.spec, self._cell_block)
        with self._changes_ignored():
            _set_choices(self._kernel, [(name, name) for name in self._cells], candidate.config.variant)
            _set_choices(self._gpu, gpu_choices(self._device), candidate.device)
            _set_choices(self._block, [(block_name(block), block) for block in legal], candidate.block)
            _set_choices(self._tile, [(tile_name(tile), tile) for tile in tiles(cell)], candidate.tile)
            shapes = [(_size_name(problem, shape), shape) for shape in sizes(problem)]
            _set_choices(self._size, shapes, candidate.shape)
        self._tile.layout.display = "none" if len(self._tile.options) < 2 else None

    @property
    def _cell_block(self) -> Block:
        return self._cells[self.candidate.config.variant].config.block

    @property
    def _model_device(self) -> str:
        """The simulator of a GPU that measures; "" if times are modelled or the catalogue lacks the GPU."""
        return f"sim:{self.spec.key}" if not self.candidate.is_modelled and self.spec.key else ""

    @contextmanager
    def _changes_ignored(self) -> Iterator[None]:
        """Ignore changes of widgets that are made by this class."""
        self._ignore_changes = True
        try:
            yield
        finally:
            self._ignore_changes = False

    # -- a moved slider -----------------------------------------------------------------------------

    def _on_change(self, change: dict[str, Any]) -> None:
        if self._ignore_changes:
            return
        self._cells = self._current_cells() or self._cells
        cell = self._cells.get(self._kernel.value) or self._cells[self.candidate.config.variant]
        new_kernel = change["owner"] is self._kernel or cell.source != self.candidate.cell.source
        if not new_kernel:
            cell = cell.with_geometry(self._block.value, self._tile.value)
        self._select(Candidate(cell, self._size.value, self._gpu.value))

    def _select(self, candidate: Candidate) -> None:
        """Select a candidate, with the nearest block that is legal for its GPU and size."""
        cell_block = self._cells[candidate.config.variant].config.block
        legal = blocks(candidate.at(block=cell_block), open_device(candidate.device).spec, cell_block)
        if legal and candidate.block not in legal:
            candidate = candidate.at(block=nearest(candidate.block, legal))
        self.candidate = candidate
        self._request()

    def _request(self) -> None:
        """Show the selected point, or request it; then complete its curve."""
        point = self.exploration.request(self.candidate)
        if self._model_device:
            self.exploration.request(replace(self.candidate, device=self._model_device))
        if point is not None:
            self._draw()
        else:
            self._show_text()
        self._offer_choices()
        self.exploration.fill(self._background_tasks())
        self._filling = True
        self._show_progress()

    def _background_tasks(self) -> Iterator[Task]:
        """Yield the curve's points, then those that the next move of another slider may select."""
        candidate = self.candidate
        curve = neighbours(candidate, self.spec, self._cell_block)
        if not candidate.is_modelled:
            yield from (Task(each, check=True) for each in curve)
            if self._model_device:
                yield from (Task(replace(each, device=self._model_device)) for each in curve)
            return
        yield from map(Task, curve)
        yield from (Task(candidate.at(tile=tile)) for _, tile in self._tile.options)
        yield from (Task(replace(candidate, shape=shape)) for _, shape in self._size.options)
        yield from (Task(each, check=True) for each in curve)
        other_gpus = (replace(candidate, device=device) for _, device in self._gpu.options)
        yield from (Task(each) for each in other_gpus if each.is_modelled)

    # -- results ------------------------------------------------------------------------------------

    def _receive(self, candidate: Candidate) -> None:
        """Draw a new result: at once if it is selected, else together with others after a while."""
        if self._ended:
            return
        if candidate == self.candidate:
            self._draw()
        elif candidate.shape == self.candidate.shape and not self._drawing_due:
            self._drawing_due = True
            wait_s = max(0.0, self._drawn_s + PERIOD_S - time.monotonic())
            asyncio.get_event_loop().call_later(wait_s, self._draw_if_due)
        self._show_progress()

    def _draw_if_due(self) -> None:
        if self._drawing_due and not self._ended:
            self._draw()

    def _draw(self) -> None:
        self._drawing_due = False
        self.figure.show(self.curve)
        self._show_text()
        self._drawn_s = time.monotonic()

    def _show_text(self) -> None:
        points, candidate = self.exploration.points, self.candidate
        point = points.get(candidate)
        if point is None:
            view = waiting_view(candidate)
        else:
            modelled = points.get(replace(candidate, device=self._model_device))
            checked = candidate in self.exploration.checked
            view = point_view(candidate, point, checked=checked, modelled=modelled)
        self._text.value = f'<div class="gpulab">{view.html}</div>'

    def _show_progress(self) -> None:
        curve = neighbours(self.candidate, self.spec, self._cell_block)
        timed = sum(candidate in self.exploration.points for candidate in curve)
        checked = sum(candidate in self.exploration.checked for candidate in curve)
        self._bar.max, self._bar.value = 2 * len(curve), timed + checked
        self._done.value = f"{timed} of {len(curve)} timed, {checked} verified"
        complete = checked == len(curve) or not self._filling
        for widget in (self._bar, self._done, self._cancel):
            widget.layout.display = "none" if complete else None
        if complete:
            self._store_still()

    def _store_still(self) -> None:
        """Update the static picture, for pages without widgets."""
        curve = self.curve
        if self._display is not None and curve != self._stored_curve:
            self._stored_curve = curve
            self._display.update(self._still())

    def _still(self) -> View:
        view = still_view(self.curve)
        return View(f'<div class="gp-still">{view.html}</div>', view.text)

    def _update_cells(self, *_: object) -> None:
        """Explore the new text of a kernel cell that ran again."""
        cells = self._current_cells()
        if cells and cells != self._cells:
            self._cells = cells
            cell = cells.get(self.candidate.config.variant) or list(cells.values())[-1]
            if cell.source != self.candidate.cell.source:
                self._select(replace(self.candidate, cell=cell))
            else:
                self._offer_choices()


def _close(widget: Any) -> None:
    """Close a widget and all widgets that belong to it."""
    for part in (
        *getattr(widget, "children", ()),
        *(getattr(widget, each, None) for each in ("layout", "style")),
    ):
        if isinstance(part, widgets.Widget):
            _close(part)
    widget.unobserve_all()
    widget.close()


def _set_choices(widget: Any, choices: Iterable[tuple[str, Any]], value: Any) -> None:
    """Replace a widget's choices and its value in one step."""
    options = tuple(choices)
    if value not in [choice for _, choice in options]:
        options = (*options, (tile_name(value) if isinstance(value, tuple) else str(value), value))
    if tuple(widget.options) != options:
        with widget.hold_sync():
            widget.options = options
            widget.value = value
    elif widget.value != value:
        widget.value = value


def _size_name(problem: Problem, shape: Shape) -> str:
    """Format a size, as one number if all extents are equal."""
    return str(shape[0]) if len(set(shape)) == 1 else problem.format_shape(shape)
