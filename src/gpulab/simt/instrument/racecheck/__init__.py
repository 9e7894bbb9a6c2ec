"""The racecheck tier: generated checks, shadow memory and hazards of accesses.

Generated code decides most accesses. The host decides the others by the complete rule, in `hazard_check`.

    racecheck_code      hooks of the instrumentation: synchronization, and a check before each access
    access_check        code of the check of one access: its addresses and its shadow cells
    read_groups         code of the check of several reads at once
    barrier_intervals   code that skips the checks of accesses which an earlier barrier interval has made
    shadow_check        code that applies a simple rule to 32 lanes at once and returns the undecided lanes
    hazard_check        the complete rule, applied on the host to one lane at a time
    hazards             the hazards that were found
    racecheck_recorder  host side: shadows, callbacks of generated code, and limits of what is checked
    sync_state          host side: clocks of warps, fences and asynchronous copies
    shadow_layout       layout of the state and of shadow cells, which generated code and host share
    shadow_memory       host memory of the shadow of one array
"""
