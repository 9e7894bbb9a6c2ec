"""Launches at full size whose inputs change every time and whose outputs are checked.

A kernel that is timed could return early because an earlier launch left the right values in the output, or
copy a result that it kept. Here every launch gets an output of NaN and inputs of which a part is new, so that
the values show whether that very launch computed them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gpulab.config import LaunchConfig
from gpulab.devices.base import Device, Kernel
from gpulab.problems.base import Argument, PartialReference
from gpulab.verification.inputs import bits_of, place_arguments, poison_of, poisoned

__all__ = ["CheckedLaunches"]

POISONED_BYTES = 4  # smallest element with poison; a smaller one may have the poison's bits by chance
SAMPLED_SLICES = 4  # slices of the output along its first axis, besides those next to changed inputs


class CheckedLaunches:
    """The arguments of repeated launches, and the check of what each launch wrote.

    `mismatch` is a sentence about the first launch with a wrong value; empty if there was none.

    Parameters
    ----------
    device : Device
        A device whose arrays can be sliced, as those of CuPy.
    launch : LaunchConfig
        The launch.
    rng : numpy.random.Generator
        Draws inputs, changes and the slices that are checked.
    """

    def __init__(self, device: Device, launch: LaunchConfig, rng: np.random.Generator) -> None:
        self.device, self.launch, self.rng = device, launch, rng
        self.problem = launch.config.problem
        # The host's arrays change together with the device's.
        self.arguments: tuple[Argument, ...] = self.problem.arguments(launch.shape, rng)
        self.arrays: dict[str, Any] = place_arguments(device, self.arguments, poisoned)
        self.mismatch = ""
        outputs = [argument for argument in self.arguments if argument.role == "output"]
        self._outputs = {output.name: self.arrays[output.name] for output in outputs}
        self._initial = {
            output.name: device.asarray(output.value) for output in outputs if output.initialized
        }
        self._changed: list[int] = []

    def _renew(self) -> None:
        """Fill the output with NaN, replace one slice of each input, and draw new scalars."""
        for name, output in self._outputs.items():
            if name in self._initial:
                output[...] = self._initial[name]
            else:
                bits_of(output)[...] = poison_of(output.dtype)
        self._changed = []
        renewed = []
        for argument in self.arguments:
            if argument.kind == "pointer" and argument.role == "input":
                index = int(self.rng.integers(len(argument.value)))
                part = self.problem.redrawn(argument, self.rng, argument.value[index : index + 1].shape)
                if part is not None:
                    argument.value[index : index + 1] = part
                    self.arrays[argument.name][index : index + 1] = self.device.asarray(part)
                    self._changed.append(index)
            elif argument.role == "scalar":
                argument = replace(argument, value=self.problem.redrawn(argument, self.rng))  # noqa: PLW2901
                self.arrays[argument.name] = argument.value
            renewed.append(argument)
        self.arguments = tuple(renewed)

    @contextmanager
    def launch_of(self, kernel: Kernel) -> Iterator[Callable[[], None]]:
        """Renew the arguments, yield a function that launches a kernel, and then check its outputs."""
        self._renew()
        launch = self.launch
        yield lambda: kernel(launch.grid, launch.block, list(self.arrays.values()), launch.shared_mem)
        self._check()

    def time(self, kernel: Kernel) -> float:
        """Return the milliseconds of one checked launch of a kernel."""
        with self.launch_of(kernel) as launch:
            return self.device.time(launch)

    def _check(self) -> None:
        """Compare slices of the outputs with the reference, and count the elements that were written."""
        if self.mismatch:
            return
        shape = self.launch.shape
        if self.problem.samples_blocks:
            (output,) = self._outputs.values()
            near = [index + step for index in self._changed for step in (-1, 0, 1)]
            drawn = self.rng.integers(len(output), size=SAMPLED_SLICES).tolist()
            indices = np.unique([index for index in near + drawn if 0 <= index < len(output)])
            others = [np.arange(extent) for extent in output.shape[1:]]
            reference = self.problem.reference_at(self.arguments, (indices, *others))
            self.mismatch = self._compared(output, reference, indices, self.problem.written_points(shape))
            return
        case = self.problem.case_of(shape, self.arguments)
        for each in (case, *case.others):
            output, must = self._outputs[each.output.name], int(np.count_nonzero(each.written))
            reference = PartialReference(each.expected, each.tolerance, each.written)
            initial = self._initial.get(each.output.name)
            places = np.arange(len(output))
            found = self._compared(output, reference, places, must, initial, in_order=each.in_order)
            if found:
                self.mismatch = found
                return

    def _compared(
        self,
        output: Any,
        reference: PartialReference,
        indices: npt.NDArray[np.int64],
        must: int,
        initial: Any = None,
        in_order: Callable[[npt.NDArray[Any]], npt.NDArray[Any]] = np.asarray,
    ) -> str:
        """Return a sentence about a wrong value of an output, or about the number of its written points.

        indices: the slices along the first axis that `reference` belongs to. must: the elements that a kernel
        must write. initial: the values before the launch, if they are not poison. in_order: see `Case`.
        """
        some = [output[int(i) : int(i) + 1] for i in indices] if len(indices) < len(output) else [output]
        got = in_order(np.concatenate([np.asarray(self.device.asnumpy(part)) for part in some]))
        with np.errstate(invalid="ignore", over="ignore"):  # NaN and infinity are expected values here
            right = np.abs(got - reference.expected) <= reference.tolerance

        untouched = bits_of(got) == poison_of(got.dtype)
        if initial is not None:
            untouched = bits_of(got) == bits_of(np.asarray(self.device.asnumpy(initial))[indices])
        wrong = np.where(reference.written, ~right, ~untouched)

        size = self.problem.format_shape(self.launch.shape)
        if wrong.any():
            first = tuple(int(n) for n in np.unravel_index(int(np.argmax(wrong)), wrong.shape))
            place = (int(indices[first[0]]), *first[1:])
            name = next(name for name, each in self._outputs.items() if each is output)
            where = self.problem.format_index(place, name)
            return (
                f"on a timed launch, {size}: the value at {where} is wrong: expected "
                f"{reference.expected[first]:.6g}, got {got[first]:.6g}"
            )

        if initial is not None or output.dtype.itemsize < POISONED_BYTES:
            return ""  # an element may rightly have the bits from before the launch
        written = int(output.size) - int((bits_of(output) == poison_of(output.dtype)).sum())
        if written != must:
            return f"on a timed launch, {size}: the kernel wrote {written:,} points instead of {must:,}"
        return ""
