"""Machine code (SASS): disassembly, and machine-instruction counts derived from PTX execution counts."""
