"""PTX instructions as LLVM IR, one module per group of the PTX manual."""
