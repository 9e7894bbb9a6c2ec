"""Texture fetches (PTX manual, section 9.7.10) and accesses to surfaces (section 9.7.11).

Objects are found by their 64-bit handle in a table, whose rows `gpulab.simt.runtime.texture_table` fills.
Functions of `textures.ll` compute the active lanes one after the other.
"""

from __future__ import annotations

from gpulab.errors import UnsupportedInstruction
from gpulab.simt.codegen.addressing import offset_pointers
from gpulab.simt.codegen.context import CodegenContext
from gpulab.simt.codegen.gather_scatter import gather, scatter
from gpulab.simt.codegen.instruction_forms import handles
from gpulab.simt.codegen.ir import Value, vector
from gpulab.simt.ptx.syntax import Instruction, Mem, Operand, Vec, type_size, vector_elements
from gpulab.simt.runtime import layout

HANDLES_BYTES = 8 * 32  # handles of the lanes; their coordinates and results follow
COORDINATE_BYTES = 4 * 32
OUTSIDE = {"trap": 0, "clamp": 1, "zero": 2}
DIMENSIONS = {"1d": 1, "2d": 2, "3d": 3, "a2d": 2}


@handles("tex{.level|grad}.1d|2d|3d|a2d.v4 .f32|s32|u32 .f32", "tex.1d.v4 .f32|s32|u32 .s32")
def fetch(cg: CodegenContext, item: Instruction) -> None:
    """Fetch from a texture. Textures have one level, so that a level or gradients have no effect.

    `tex.1d` with an integer coordinate is `tex1Dfetch`, which reads linear memory.
    """
    memory = _memory(item, 1)
    geometry = next(part for part in item.parts[1:] if part in DIMENSIONS)
    targets = vector_elements(item.operands[0])
    if len(targets) != 4:
        raise UnsupportedInstruction(item.text, item.line, "a result that is not a vector of four")

    result = item.parts[-2]
    name = f"{_c_name(geometry, 'tex')}<{'float' if result == 'f32' else 'int'}>"
    if item.parts[-1] == "s32":
        geometry, name = "linear", name.replace("tex1D", "tex1Dfetch")
    kind = layout.GEOMETRIES[geometry] | (layout.RETURNS_FLOATS if result == "f32" else 0)
    _store_operands(cg, item, memory, geometry)
    b, mask = cg.b, cg.mask_bits(item.predicate)
    site = cg.add_site(name, "texture", 0)
    good = b.call(
        "sim_textures", "i1", ("ptr", "%ctx"), ("i32", "%warp"), ("i32", mask), ("i64", str(site)),
        ("i64", str(kind)), ("ptr", cg.texels),
    )  # fmt: skip
    cg.end_unless(good)
    for number, target in enumerate(targets):
        place = _channel(cg, number)
        value = b.value(f"load {vector('i32')}, ptr {place}, align 64")
        cg.assign(target, Value("i32", "varying", (value,)), item.predicate)


@handles("suld.b.1d|2d|3d|a2d{.ca|cg|cs|cv}{.v2|v4} .b8|b16|b32|b64 .trap|clamp|zero")
def load_surface(cg: CodegenContext, item: Instruction) -> None:
    """Load bytes from a surface; with `.zero`, bytes outside of it are 0."""
    targets = vector_elements(item.operands[0])
    pointers, mask, ty, step = _locate(cg, item, _memory(item, 1), len(targets), "read")
    for number, target in enumerate(targets):
        value = gather(cg.b, ty, offset_pointers(cg, pointers, number * step), mask)
        cg.assign(target, Value(ty, "varying", (value,)), item.predicate)


@handles("sust.b.1d|2d|3d|a2d{.wb|cg|cs|wt}{.v2|v4} .b8|b16|b32|b64 .trap|clamp|zero")
def store_surface(cg: CodegenContext, item: Instruction) -> None:
    """Store bytes to a surface; with `.zero`, bytes outside of it are not stored."""
    values = vector_elements(item.operands[1])
    pointers, mask, ty, step = _locate(cg, item, _memory(item, 0), len(values), "write")
    for number, value in enumerate(values):
        stored = cg.to_vector(cg.operand(value, ty))
        scatter(cg.b, ty, offset_pointers(cg, pointers, number * step), stored, mask)


def _memory(item: Instruction, place: int) -> Mem:
    """Return the operand with the object and the coordinates."""
    memory = item.operands[place] if len(item.operands) > place else None
    if not isinstance(memory, Mem) or len(memory.rest) != 1 or memory.offset:
        raise UnsupportedInstruction(item.text, item.line, "an operand that is no object with coordinates")
    return memory


def _c_name(geometry: str, prefix: str) -> str:
    layered = "Layered" if geometry == "a2d" else ""
    return f"{prefix}{DIMENSIONS[geometry]}D{layered}"


def _channel(cg: CodegenContext, number: int) -> str:
    """Return the place of a coordinate of all lanes, or of a channel of their results."""
    return cg.b.value(f"getelementptr i8, ptr {cg.texels}, i64 {HANDLES_BYTES + number * COORDINATE_BYTES}")


def _store_operands(cg: CodegenContext, item: Instruction, memory: Mem, geometry: str) -> None:
    """Store the handle and the coordinates of each lane: x, y, and z or the layer."""
    coordinates: tuple[Operand, ...] = vector_elements(memory.rest[0])
    if geometry == "a2d":  # the layer comes first
        coordinates = (*coordinates[1:3], coordinates[0])
    else:
        coordinates = coordinates[: DIMENSIONS.get(geometry, 1)]
    if isinstance(memory.base, Vec) or len(coordinates) < DIMENSIONS.get(geometry, 1):
        raise UnsupportedInstruction(item.text, item.line, "operands that do not fit")

    cg.store_lanes(cg.operand(memory.base, "i64"), cg.texels)
    for number in range(3):
        place = _channel(cg, number)
        if number < len(coordinates):
            cg.store_lanes(cg.operand(coordinates[number], "i32"), place)
        else:
            cg.b.line(f"store {vector('i32')} zeroinitializer, ptr {place}, align 64")


def _locate(
    cg: CodegenContext, item: Instruction, memory: Mem, count: int, action: str
) -> tuple[str, str, str, int]:
    """Check an access to a surface.

    Returns the pointers of the lanes, the lanes that access memory, the type of an element and its bytes.
    """
    geometry = next(part for part in item.parts[1:] if part in DIMENSIONS)
    ptx_type = item.parts[-2]
    size = type_size(ptx_type) * count
    _store_operands(cg, item, memory, geometry)
    b, mask = cg.b, cg.mask_bits(item.predicate)
    site = cg.add_site(_c_name(geometry, "surf") + action, "surface", size)
    kind = layout.GEOMETRIES[geometry] | layout.IS_SURFACE
    result = b.call(
        "sim_surfaces", "i64", ("ptr", "%ctx"), ("i32", "%warp"), ("i32", mask), ("i64", str(site)),
        ("i64", str(kind)), ("i64", str(size)), ("i64", str(OUTSIDE[item.parts[-1]])), ("ptr", cg.texels),
    )  # fmt: skip
    cg.end_unless(b.value(f"icmp sge i64 {result}, 0"))
    addresses = b.value(f"load {vector('i64')}, ptr {cg.texels}, align 64")
    pointers = b.value(f"inttoptr {vector('i64')} {addresses} to {vector('ptr')}")
    lanes = cg.unpack_mask(b.value(f"trunc i64 {result} to i32"))
    ty = f"i{8 * type_size(ptx_type)}"
    return pointers, lanes, ty, type_size(ptx_type)
