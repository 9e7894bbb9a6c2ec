"""Code generation: from PTX to LLVM IR to native code of the host."""
