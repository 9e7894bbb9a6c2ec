"""Limits of the time, memory, processes and output of a sandbox."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ONE_THREAD", "ResourceLimits"]

# Variables for one thread in each pool of threads: a run judges a submission per core. One thread per core in
# each pool would exceed the limits on a machine with many cores.
ONE_THREAD = dict.fromkeys(
    ("GPULAB_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"
)


@dataclass(frozen=True)
class ResourceLimits:
    """The resources that the processes of one sandbox may use.

    The kernel enforces the limits of a single process. The grader sums up the processes of a sandbox several
    times a second and ends the sandbox when a sum is too large.

    Attributes
    ----------
    wall_s : float
        Seconds from start to end. The notebook of a lab takes about 20 s on one core.
    cpu_s : float
        Seconds of CPU time, of all processes together and of each one.
    memory_bytes : int
        Anonymous and shared memory that all processes together keep resident. The arrays of the labs take
        less than 1 GiB.
    address_bytes : int
        Address space of one process. LLVM and NumPy reserve more than they use, therefore this is twice
        `memory_bytes`. It does not apply with a GPU, because the CUDA driver reserves address space for the
        memory of all GPUs.
    processes : int
        Processes and threads that exist at a time.
    open_files : int
        Open files of one process.
    file_bytes : int
        Size of one file that is written.
    scratch_bytes : int
        Size of each of the three writable file systems (`/submission`, `/tmp` and `/dev/shm`). They are in
        memory, and nothing of them remains.
    output_bytes : int
        Bytes that the grader reads from the standard output.
    """

    wall_s: float = 300.0
    cpu_s: float = 300.0
    memory_bytes: int = 4 << 30
    address_bytes: int = 8 << 30
    processes: int = 256
    open_files: int = 512
    file_bytes: int = 64 << 20
    scratch_bytes: int = 128 << 20
    output_bytes: int = 64 << 20
