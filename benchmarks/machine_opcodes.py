"""Write the names of machine instructions by their opcode bits, which nvdisasm prints.

python -m benchmarks.machine_opcodes

nvdisasm disassembles one instruction for each value of bits 0 to 11, with several values of the other bits,
because an opcode is refused with operands that it does not support.
"""

from __future__ import annotations

import re
import struct
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from benchmarks.simulators.costs import ROOT
from gpulab.compiler.sass.disassembly import find_nvdisasm

FILE = ROOT / "src/gpulab/compiler/sass/opcodes.toml"
ARCHITECTURES = (75, 80, 86, 89, 90)
# Bits 12 to 63 and 64 to 127. The forms of an instruction differ in the registers, predicates, widths and
# flags that they support, so there is at least one value for each kind of operand.
OPERANDS = (
    (0x0000000000007000, 0x000FE20000000000),
    (0x000000FFFFFF7000, 0x000FE200038E00FF),
    (0x0000000604027000, 0x000FE200038E0808),
    (0x0000000000007000, 0x000FE20000700000),
    (0x0000000C00047000, 0x000FE20000101C00),
    (0x0000000000007000, 0x000FE2000020F000),
    # uniform registers
    (0x0000000403047000, 0x000FE2000F8E0200),
    (0x0000000405007000, 0x000FE2000BF06270),
    (0x0000000405007000, 0x000FE20008000000),
    (0x0000000804057000, 0x000FE2000800063F),
    (0x0000000804057000, 0x000FE2000FFFE13F),
    (0x0000000400027000, 0x000FE20008201800),
    # descriptors of memory
    (0x0000000402027000, 0x000FE2000C1E1900),
    (0x0000000704007000, 0x000FE2000C101904),
    (0x0000000306007000, 0x000FE20008000804),
    (0x0000000B06067000, 0x000FE200081EE1C6),
    (0x0000000002077000, 0x000FE2000B901C46),
    (0x00000000FFFF7000, 0x000FE2000D800004),
    (0x00000005FF007000, 0x000FE20008000048),
    (0x000000FFFF047000, 0x000FE20008100008),
    (0x00000004083F7000, 0x000FE20008000100),
)
HEAD = """\
# Names of machine instructions (SASS) by bits 0 to 11, for compute capability 7.5 to 9.0.
# Written by `python -m benchmarks.machine_opcodes` from the output of NVIDIA's nvdisasm.
"""


def opcodes(architecture: int) -> dict[int, str]:
    """Return the names of all opcodes of an architecture."""
    names: dict[int, str] = {}
    for low, high in OPERANDS:
        numbers = list(range(1 << 12))
        while True:
            text, illegal = _disassemble([(low | n, high) for n in numbers], architecture)
            if not illegal:
                break
            numbers = [n for position, n in enumerate(numbers) if position not in illegal]
        for position, name in re.findall(r"/\*([0-9a-f]{4,})\*/\s+(?:@!?U?P\w+ )?\s*([A-Z]\w*)", text):
            names[numbers[int(position, 16) // 16]] = name
    return names


def _disassemble(words: Iterable[tuple[int, int]], architecture: int) -> tuple[str, set[int]]:
    """Return nvdisasm's output and the positions of the instructions that it refuses."""
    nvdisasm = find_nvdisasm()
    if nvdisasm is None:
        raise SystemExit("nvdisasm is not installed")
    with tempfile.TemporaryDirectory(prefix="gpulab-") as folder:
        path = Path(folder) / "code.bin"
        path.write_bytes(b"".join(struct.pack("<QQ", *word) for word in words))
        command = [nvdisasm, "--binary", f"SM{architecture}", "--no-dataflow", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    refused = re.findall(r"at address (0x[0-9a-f]+)", done.stderr)
    return done.stdout, {int(address, 16) // 16 for address in refused}


def main() -> int:
    by_architecture = {architecture: opcodes(architecture) for architecture in ARCHITECTURES}
    before = {n: name for a in ARCHITECTURES[:-1] for n, name in by_architecture[a].items()}
    latest = by_architecture[ARCHITECTURES[-1]]
    for a in ARCHITECTURES[:-1]:
        if any(before[n] != name for n, name in by_architecture[a].items()):
            raise SystemExit(f"sm_{a} has an opcode with another name than on later architectures")
    different = {n for n in before.keys() & latest.keys() if before[n] != latest[n]}
    tables = {
        "opcodes": {n: name for n, name in {**before, **latest}.items() if n not in different},
        "before_sm_90": {n: before[n] for n in different},
        "from_sm_90": {n: latest[n] for n in different},
    }

    lines = [HEAD]
    for title, table in tables.items():
        numbers = defaultdict(list)
        for number, name in sorted(table.items()):
            numbers[name].append(f"0x{number:03x}")
        lines += [f"[{title}]", *(f"{k} = [{', '.join(v)}]" for k, v in sorted(numbers.items())), ""]
    FILE.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    print(f"{FILE}: {sum(map(len, tables.values()))} opcodes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
