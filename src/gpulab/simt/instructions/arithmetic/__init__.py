"""Arithmetic, logic and conversion instructions, and the numeric formats behind them.

Instructions:

    bits         logic and shifts; counting and finding bits (`and`, `lop3`, `shl`, `popc`, `bfind`)
    comparison   comparison and selection (`setp`, `set`, `selp`, `slct`)
    conversion   conversion between types (`cvt`)
    fields       bit fields and byte permutations (`bfe`, `bfi`, `prmt`)
    floating     f32 and f64 (`add`, `fma`, `div`, `sqrt`, `sin`)
    half         f16 and bf16, single or packed
    integer      integers (`add`, `mad`, `div`, `abs`, `dp4a`)
    video        video instructions on whole registers (`vadd`, `vset4`)

Used by these:

    elementwise  one instruction for uniform, affine and varying values
    approximate  the functions of a GPU's special function units as polynomials
    formats      widening and rounding of narrow floating point formats
"""
