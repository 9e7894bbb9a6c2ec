"""Generator of the table of PTX instructions in simulator.md.

`python docs/instructions.py` rewrites the part of the page between the two markers.
"""

from __future__ import annotations

from pathlib import Path

from gpulab.simt.codegen import native  # noqa: F401  # loads every module that declares instructions
from gpulab.simt.codegen.instruction_forms import FORMS, REFUSED
from gpulab.simt.ptx.inlining import BUILTINS

PAGE = Path(__file__).parent / "simulator.md"
BEGIN, END = "<!-- instructions -->\n", "<!-- end of instructions -->\n"

# Control flow is lowered without a handler, so that these forms are not in `FORMS`.
CONTROL = {
    "alloca": "`alloca.u32\\|u64`: on the thread's stack",
    "bra": "`bra{.uni}`",
    "brx": "`brx.idx{.uni}`",
    "call": f"`call{{.uni}}`: by name, through a pointer, recursive; {', '.join(f'`{n}`' for n in BUILTINS)}",
    "exit": "`exit`",
    "ret": "`ret{.uni}`",
    "stackrestore": "`stackrestore.u32\\|u64`",
    "stacksave": "`stacksave.u32\\|u64`",
    "trap": "`trap`: ends the launch",
}


def table() -> str:
    """Return the table: for each operation its state, and its forms or the reason why it is refused."""
    rows = ["| operation | state | supported forms, or reason |", "|---|---|---|"]
    for operation in sorted(FORMS.keys() | REFUSED.keys() | CONTROL.keys()):
        if operation in REFUSED:
            rows.append(f"| {operation} | refused | {REFUSED[operation]} |")
            continue
        forms = CONTROL.get(operation)
        if forms is None:
            texts = dict.fromkeys(form.text.replace("|", "\\|") for form in FORMS[operation])
            forms = "<br>".join(f"`{text}`" for text in texts)
        rows.append(f"| {operation} | supported | {forms} |")
    return "\n".join(rows) + "\n"


def page() -> str:
    """Return the complete page with the current table."""
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + "\n" + table() + "\n" + END + after


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
