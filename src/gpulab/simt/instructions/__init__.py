"""Translation of PTX instructions to LLVM IR, one module per group of the PTX manual.

A new instruction belongs to the module of its group:

    address_spaces  `cvta`, `isspacep`: generic addresses and addresses of a state space
    async_copy      `cp.async`: asynchronous copies from global to shared memory
    atomics         `atom`, `red`: atomic operations on memory
    bulk_copy       `cp.async.bulk`: copies of one thread between global and shared memory
    collective      `shfl`, `vote`, `match`, `redux`, `elect`: warp-level instructions
    host_calls      calls of printf and assert; fences; hints without an effect on values
    loads_stores    `ld`, `st`: loads and stores in any state space
    matrix          `ldmatrix`, `stmatrix`, `movmatrix`: 8x8 matrices in a warp's registers
    mbarrier        `mbarrier`: barriers that are objects in shared memory
    move            `mov`: moves between registers; packing and unpacking of vectors
    refused         instructions that the simulator does not support
    tensor_cores    `mma`, `wmma`: matrix products; `matrix_fragments` has the layouts of their operands and
                    `matrix_product` and `matrix_numbers` the sums
    texture_access  `tex`, `suld`, `sust`: fetches from textures, accesses to surfaces
    arithmetic      arithmetic, logic and conversion; `arithmetic/__init__.py` lists its modules

Instructions that end a basic block are not translated here. `gpulab.simt.codegen.lowering` translates `bra`,
`exit` and `trap`, and `gpulab.simt.codegen.barriers` translates `bar` and `barrier`. Calls and returns of
functions become branches in `gpulab.simt.ptx.inlining`; `brx` becomes a chain of branches in
`gpulab.simt.analysis.control_flow`.
"""
