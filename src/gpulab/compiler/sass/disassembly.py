"""The machine's code of a kernel (SASS), as NVIDIA's disassembler prints it from the cubin.

Every instruction comes with the source line it serves and, since the assembler writes that down too
(`.nv_debug_line_sass`, made by -lineinfo), with the line of the PTX it was made from. That is what ties
counts of executed PTX to counts of executed machine code: see `gpulab.compiler.sass.machine_counts`.

nvdisasm comes with the wheel `nvidia-cuda-nvdisasm` or the CUDA Toolkit. Its text is described in "CUDA
Binary Utilities", section nvdisasm; the instruction names in its tables of instruction sets.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from functools import cache, cached_property
from pathlib import Path

from gpulab.cache import fingerprint, kernel_cache
from gpulab.compiler.nvrtc import FILE_NAME
from gpulab.compiler.program import Program
from gpulab.compiler.sass.normalization import without_numbers

__all__ = ["MachineBlock", "MachineCode", "MachineInstruction", "find_nvdisasm", "machine_code"]

TIME_LIMIT_S = 60.0
INSTRUCTION_BYTES = 16  # since compute capability 7.0

_PTX = ".nv_debug_ptx_txt"
_SECTION = re.compile(r"\s*\.section\s+\.text\.([^\s,]+)")
_PLACE = re.compile(r'\s*//## File "([^"]*)", line (\d+)')
_LABEL = re.compile(r"(?:`?)([.$\w]+):\s*$")
_INSTRUCTION = re.compile(r"\s*/\*([0-9a-f]{4,})\*/\s+(?:(@!?U?P\w+)\s+)?([A-Z][\w.]*)\s*(.*?)\s*;")
_TARGET = re.compile(r"`\(([^)]+)\)")
_BY_TABLE = re.compile(r"\b(?:BRX|JMX)\b")
_TABLE = re.compile(r'\(\*"BRANCH_TARGETS ([^"]*)"\*\)')


@dataclass(frozen=True)
class MachineInstruction:
    """One machine instruction.

    opcode: with its modifiers, "LDS.128". predicate: "@P0", "@!P0" or "". line: of the source, 0 where
    there is none. ptx_line: the line of the program's PTX it was made from, 0 likewise. targets: offsets
    it may jump to (of a call: the callee).
    """

    offset: int
    opcode: str
    predicate: str
    operands: str
    line: int
    ptx_line: int
    targets: tuple[int, ...] = ()

    @cached_property
    def op(self) -> str:
        """The opcode without modifiers."""
        return self.opcode.partition(".")[0]

    @property
    def width(self) -> int:
        """Bytes a lane moves, for loads and stores."""
        parts = self.opcode.split(".")
        for part, size in (("128", 16), ("64", 8), ("U16", 2), ("S16", 2), ("U8", 1), ("S8", 1)):
            if part in parts:
                return size
        return 4

    @property
    def ends(self) -> bool:
        """Whether control never goes on to the next instruction."""
        return not self.conditional and self.op in ("BRA", "BRX", "JMP", "JMX", "EXIT", "RET", "BPT", "KILL")

    @property
    def conditional(self) -> bool:
        """Whether its predicate can be false, or a branch has another way out of its own."""
        if self.op == "BRA" and (re.match(r"!?U?P[0-9]", self.operands) or ".DIV" in self.opcode):
            return True  # `BRA P1, …` needs both predicates; `BRA.DIV` goes on where the warp is whole
        return self.predicate not in ("", "@PT", "@UPT")


@dataclass(frozen=True)
class MachineBlock:
    """Straight-line machine code. targets: the numbers of the blocks that can follow, the next one first.

    A call goes on behind itself: what it calls is `calls`, and a called block's `RET` has no targets.
    """

    number: int
    instructions: tuple[MachineInstruction, ...]
    targets: tuple[int, ...]
    calls: int | None = None


@dataclass(frozen=True)
class MachineCode:
    """A kernel's machine code, in the order of its addresses, without the padding behind its end."""

    name: str
    instructions: tuple[MachineInstruction, ...]

    @cached_property
    def blocks(self) -> tuple[MachineBlock, ...]:
        """The code cut at jumps and where they lead; block 0 is the entry."""
        return tuple(_blocks(self.instructions))


def machine_code(program: Program, name: str, *, numbers: bool = True) -> MachineCode | None:
    """The machine code of kernel `name`; None when the program has none or no nvdisasm is found.

    The first call for a program runs nvdisasm, about 0.4 s; what it said is kept on disk.

    numbers: False where those in the operands do not matter. The code of a program that differs in nothing
    else, as of the same kernel for another block, will do then, if it is known.
    """
    if program.cubin is None:
        return None
    data = _kept(program.cubin, numbers) or _disassembled(program.cubin)
    found = json.loads(data).get(program.entry(name)) if data is not None else None
    if found is None:
        return None
    return MachineCode(name, tuple(_from_row(*row) for row in found))


def _kept(cubin: bytes, numbers: bool) -> bytes | None:
    store = kernel_cache()
    if store is None:
        return None
    data = store.get(_key(cubin))
    if data is None and not numbers:
        same = store.get(_key(without_numbers(cubin)))
        data = store.get(same.decode()) if same is not None else None
    return data


def _disassembled(cubin: bytes) -> bytes | None:
    text = _disassemble(cubin)
    if text is None:
        return None
    rows = {section: [astuple(one) for one in found] for section, found in _read(text)}
    data = json.dumps(rows).encode()
    store = kernel_cache()
    if store:
        store.put(_key(cubin), data)
        store.put(_key(without_numbers(cubin)), _key(cubin).encode())
    return data


def _key(code: bytes) -> str:
    return "sass-" + fingerprint(_sources(), code)


@cache
def _sources() -> bytes:
    """What an answer depends on besides the code."""
    return b"".join(
        Path(__file__).with_name(name).read_bytes() for name in ("disassembly.py", "normalization.py")
    )


@cache
def find_nvdisasm() -> str | None:
    """The path of nvdisasm: of NVIDIA's wheel, on PATH, or in the CUDA Toolkit that CUDA_HOME names."""
    binary = "nvdisasm.exe" if sys.platform == "win32" else "nvdisasm"
    spec = importlib.util.find_spec("nvidia")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for path in sorted(Path(folder).glob(f"*/bin/**/{binary}"), reverse=True):
            return str(path)
    if found := shutil.which(binary):
        return found
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        path = Path(os.environ.get(variable, "/usr/local/cuda")) / "bin" / binary
        if path.is_file():
            return str(path)
    return None


def _disassemble(cubin: bytes) -> str | None:
    nvdisasm = find_nvdisasm()
    if nvdisasm is None:
        return None
    with tempfile.TemporaryDirectory(prefix="gpulab-") as folder:
        path = Path(folder) / "program.cubin"
        path.write_bytes(cubin)
        command = [nvdisasm, "--print-code", "--print-line-info", "--print-line-info-ptx", str(path)]
        # Where jumps by a table lead is all that it needs its analysis for, a third of its time.
        text = _answer([*command, "--no-dataflow"])
        return _answer(command) if text is None or _BY_TABLE.search(text) else text


def _answer(command: Sequence[str]) -> str | None:
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=TIME_LIMIT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return answer.stdout if answer.returncode == 0 else None


def _from_row(
    offset: int, opcode: str, predicate: str, operands: str, line: int, ptx_line: int, targets: Sequence[int]
) -> MachineInstruction:
    return MachineInstruction(offset, opcode, predicate, operands, line, ptx_line, tuple(targets))


def _read(text: str) -> Iterator[tuple[str, list[MachineInstruction]]]:
    """The instructions of every code section, by its kernel's name in the cubin."""
    sections = re.split(r"(?m)^(?=//-{5,} )", text)
    for section in sections:
        lines = section.splitlines()
        name = next((match[1] for line in lines if (match := _SECTION.match(line))), None)
        if name is not None:
            yield name, _read_section(lines)


def _read_section(lines: Sequence[str]) -> list[MachineInstruction]:
    labels: dict[str, int] = {}
    waiting: list[str] = []
    drafts: list[tuple[int, re.Match[str], int, int]] = []
    line = ptx_line = 0
    for text in lines:
        if match := _INSTRUCTION.match(text):
            offset = int(match[1], 16)
            labels.update(dict.fromkeys(waiting, offset))
            waiting.clear()
            drafts.append((offset, match, line, ptx_line))
        elif match := _PLACE.match(text):
            if match[1] == _PTX:
                ptx_line = int(match[2])
            else:
                line = int(match[2]) if match[1] == FILE_NAME else 0
        elif match := _LABEL.match(text):
            waiting.append(match[1])
    found = []
    for offset, match, line, ptx_line in drafts:
        operands = match[4]
        names = [name.strip() for table in _TABLE.findall(operands) for name in table.split(",")]
        names += _TARGET.findall(operands)
        targets = tuple(labels[name] for name in names if name in labels)
        found.append(MachineInstruction(offset, match[3], match[2] or "", operands, line, ptx_line, targets))
    while len(found) > 1 and found[-1].op == "NOP":
        found.pop()
    last = found[-1] if found else None
    if last is not None and last.op == "BRA" and last.targets == (last.offset,):
        found.pop()  # behind the end stands a jump to itself
    return found


JUMPS = ("BRA", "BRX", "JMP", "JMX")  # BSSY, WARPSYNC and the like name a place and do not go there


def _blocks(instructions: Sequence[MachineInstruction]) -> Iterator[MachineBlock]:
    if not instructions:
        return
    starts = {instructions[0].offset}
    for one, following in zip(instructions, [*instructions[1:], None], strict=True):
        if one.op in JUMPS or one.op == "CALL":
            starts.update(one.targets)
        if (one.op in JUMPS or one.op in ("CALL", "EXIT", "RET")) and following is not None:
            starts.add(following.offset)
    numbers = {offset: number for number, offset in enumerate(sorted(starts))}
    pieces: list[list[MachineInstruction]] = [[] for _ in numbers]
    current = 0
    for one in instructions:
        current = numbers.get(one.offset, current)
        pieces[current].append(one)
    for number, piece in enumerate(pieces):
        last = piece[-1]
        targets = [] if last.ends or number + 1 == len(pieces) else [number + 1]
        if last.op in JUMPS:
            targets += [numbers[offset] for offset in last.targets if offset in numbers]
        called = numbers.get(last.targets[0]) if last.op == "CALL" and last.targets else None
        yield MachineBlock(number, tuple(piece), tuple(dict.fromkeys(targets)), called)
