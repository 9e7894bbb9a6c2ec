"""Translation of PTX instructions to LLVM IR, one module per group of the PTX manual."""
