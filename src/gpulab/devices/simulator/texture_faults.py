"""Messages of faults that textures and surfaces cause."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpulab.devices.textures import SurfaceObject, TextureObject

if TYPE_CHECKING:
    from gpulab.simt.runtime.launch import Fault
    from gpulab.simt.runtime.texture_table import TextureTable

__all__ = ["TEXTURE_FAULTS", "texture_fault"]

TEXTURE_FAULTS = ("invalid_texture", "wrong_texture", "misaligned_surface", "outside_surface")


def texture_fault(fault: Fault, table: TextureTable) -> str:
    """Return the end of the sentence "thread … calls tex2D<float> …".

    The site's action is the name of the CUDA function; the address is the handle, or coordinates.
    """
    name, detail = fault.site.action, fault.address
    noun = "surface" if fault.site.space == "surface" else "texture"
    if fault.kind == "misaligned_surface":
        return (
            f"calls {name} at byte {_signed(detail, 64)} of a row, which is not a multiple of "
            f"{fault.site.size}, the size of the element. The x coordinate of a surface counts bytes: "
            "multiply the index by the size of an element."
        )
    if fault.kind == "outside_surface":
        x, y = _signed(detail, 32), _signed(detail >> 32, 32)
        place = f"byte {x}" if "1D" in name else f"byte {x} of row {y}"
        return (
            f"calls {name} at {place}, outside the surface. The x coordinate counts bytes: guard the call, "
            "or pass cudaBoundaryModeClamp or cudaBoundaryModeZero."
        )
    if fault.kind == "wrong_texture":
        return f"calls {name} on {_described(table.owner(detail))}. {_advice(name, table.owner(detail))}"

    if detail == 0:
        state = f"a null handle instead of a {noun} object"
    elif table.existed(detail):
        state = f"the handle {detail:#x} of an object that no longer exists"
    else:
        state = f"{detail:#x}, which is not the handle of a {noun} object of this device"
    return f"calls {name} with {state}. Pass dev.{noun}(…) as the argument, and keep it during the launch."


def _described(owner: object) -> str:
    """Return the object in words."""
    if isinstance(owner, TextureObject):
        if owner.memory == "linear":
            return f"a texture of linear memory ({owner.layout.text}, read={owner.sampling.read!r})"
        return f"a texture object ({owner.layout.text}, read={owner.sampling.read!r})"
    if isinstance(owner, SurfaceObject):
        return f"a surface object ({owner.layout.text})"
    return "another object"


def _advice(name: str, owner: object) -> str:
    """Return which function, type or object fits."""
    if name.startswith("surf"):
        if isinstance(owner, SurfaceObject):
            return "Use the function for this number of axes, and an element of at most the size of a texel."
        return "Surface functions need an object of dev.surface(x)."
    if not isinstance(owner, TextureObject):
        return "Texture functions need an object of dev.texture(x)."
    fetched = owner.memory == "linear" and len(owner.layout.extents) == 1
    if "fetch" in name and not fetched:
        return "tex1Dfetch needs linear memory: dev.texture(x, memory='linear') with a 1-D device array."
    if fetched and "fetch" not in name:
        return "Linear memory is read by tex1Dfetch; other functions need memory='array'."
    return (
        "The function must have the number of axes of the texture, and its type must be a floating-point "
        "type if the elements are floats or read='normalized', otherwise an integer type."
    )


def _signed(value: int, bits: int) -> int:
    """Return the lowest bits of a word as a signed integer."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value
