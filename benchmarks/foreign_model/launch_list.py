"""The launches of other people's kernels on which the model is measured, and the half that is held out.

A kernel is held out if the SHA-256 of its name begins with an odd byte. The list was committed before the
first measurement, and no launch was removed later.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from typing import Any

from benchmarks.compatibility import declared as _  # noqa: F401
from benchmarks.compatibility.launches import Launch, declarations
from benchmarks.foreign_model import declared
from benchmarks.foreign_model.polybench import POLYBENCH

__all__ = ["ForeignLaunch", "foreign_launches"]

RODINIA, SAMPLES, ACC = "rodinia", "cuda-samples", "PolyBench-ACC"
FOLDERS = {RODINIA: "cuda/", SAMPLES: "Samples/", ACC: "CUDA/"}
INTRODUCTION, CONCEPTS = "0_Introduction/", "2_Concepts_and_Techniques/"
FEATURES, LIBRARIES, DOMAIN = "3_CUDA_Features/", "4_CUDA_Libraries/", "5_Domain_Specific/"
PERFORMANCE = "6_Performance/"


@dataclass(frozen=True)
class ForeignLaunch:
    """A launch of a kernel of a repository.

    Attributes
    ----------
    suite, file, kernel : str
        The repository, the file in it, and the name of the kernel.
    scale : int
        The size for which the launch is declared.
    index : int
        The number of the launch, if several are declared.
    grid : int or None
        The grid of a kernel that accepts any; None for the declared one.
    """

    suite: str
    file: str
    kernel: str
    scale: int
    index: int = 0
    grid: int | None = None

    @property
    def label(self) -> str:
        """A unique name."""
        program = self.file.rpartition("/")[2].partition(".")[0]
        number = f"#{self.index}" if self.index else ""
        return f"{self.suite}/{program}/{self.kernel}{number}@{self.scale}"

    @property
    def held_out(self) -> bool:
        return sha256(self.kernel.encode()).digest()[0] % 2 == 1

    def launch(self) -> Launch:
        """Return the launch with its arguments, which may take seconds."""
        found = _launches(self)(self.scale)
        launch = found if isinstance(found, Launch) else found[self.index]
        return launch if self.grid is None else replace(launch, grid=self.grid)


def _launches(each: ForeignLaunch) -> Callable[[int], Any]:
    if each.suite == ACC:
        return POLYBENCH[each.file.removeprefix(FOLDERS[ACC]), each.kernel]
    own = OWN.get(each.kernel)
    if own is None:
        return declarations[each.suite, each.file, each.kernel].launches
    takes_name = own.__code__.co_argcount == 2
    return (lambda scale: own(scale, each.kernel)) if takes_name else own


# Kernels whose launches are declared in `declared`.
OWN: dict[str, Callable[..., Launch]] = {
    "needle_cuda_shared_1": declared.alignment,
    "needle_cuda_shared_2": declared.alignment,
    "vlc_encode_kernel_sm64huff": declared.encode,
    "convolutionRowsKernel": declared.convolution,
    "convolutionColumnsKernel": declared.convolution,
    "histogram64Kernel": declared.histogram,
    "histogram256Kernel": declared.histogram,
    "integrateBodies": declared.bodies,
    "reduce6": declared.reduction,
    "reduceMultiPass": declared.reduction,
    "scalarProdGPU": declared.scalar_products,
}

WIDE = 1056  # a grid of eight blocks for each SM of an H200, for kernels that accept any grid

# Files and kernels, with their scale; then the number of the launch or the grid.
_POLYBENCH = (
    *(("linear-algebra/kernels/gemm/gemm.cu", "gemm_kernel", scale) for scale in (1, 2)),
    *(("linear-algebra/kernels/2mm/2mm.cu", f"mm2_kernel{n}", 2) for n in (1, 2)),
    *(("linear-algebra/kernels/3mm/3mm.cu", f"mm3_kernel{n}", 1) for n in (1, 2, 3)),
    ("linear-algebra/kernels/syrk/syrk.cu", "syrk_kernel", 2),
    ("linear-algebra/kernels/syr2k/syr2k.cu", "syr2k_kernel", 2),
    *(("linear-algebra/kernels/doitgen/doitgen.cu", f"doitgen_kernel{n}", 2) for n in (1, 2)),
    *(("linear-algebra/kernels/atax/atax.cu", f"atax_kernel{n}", s) for n, s in ((1, 1), (2, 1), (2, 0))),
    *(("linear-algebra/kernels/bicg/bicg.cu", f"bicg_kernel{n}", s) for n, s in ((1, 1), (1, 0), (2, 1))),
    *(("linear-algebra/kernels/mvt/mvt.cu", f"mvt_kernel{n}", 1) for n in (1, 2)),
    ("linear-algebra/kernels/gesummv/gesummv.cu", "gesummv_kernel", 1),
    *(("linear-algebra/kernels/gemver/gemver.cu", f"gemver_kernel{n}", 1) for n in (1, 2, 3)),
    *(("linear-algebra/solvers/gramschmidt/gramschmidt.cu", f"gramschmidt_kernel{n}", 2) for n in (1, 3)),
    ("linear-algebra/solvers/lu/lu.cu", "lu_kernel2", 2),
    ("linear-algebra/solvers/lu/lu.cu", "lu_kernel2", 4),
    ("datamining/correlation/correlation.cu", "mean_kernel", 1),
    ("datamining/correlation/correlation.cu", "std_kernel", 1),
    ("datamining/correlation/correlation.cu", "reduce_kernel", 1),
    ("datamining/correlation/correlation.cu", "corr_kernel", 4),
    ("datamining/covariance/covariance.cu", "mean_kernel", 4),
    ("datamining/covariance/covariance.cu", "reduce_kernel", 1),
    ("datamining/covariance/covariance.cu", "covar_kernel", 4),
    *(("stencils/adi/adi.cu", f"adi_kernel{n}", 1) for n in (1, 3)),
    *(("stencils/jacobi-2d-imper/jacobi2D.cu", f"runJacobiCUDA_kernel{n}", 4) for n in (1, 2)),
    *(("stencils/jacobi-1d-imper/jacobi1D.cu", f"runJacobiCUDA_kernel{n}", 4) for n in (1, 2)),
    *(("stencils/fdtd-2d/fdtd2d.cu", f"fdtd_step{n}_kernel", 2) for n in (1, 2, 3)),
    ("stencils/convolution-2d/2DConvolution.cu", "convolution2D_kernel", 1),
    ("stencils/convolution-2d/2DConvolution.cu", "convolution2D_kernel", 2),
    ("stencils/convolution-3d/3DConvolution.cu", "convolution3D_kernel", 3),
)  # fmt: skip
_RODINIA = (
    ("b+tree/kernel/kernel_gpu_cuda.cu", "findK", 333),
    ("b+tree/kernel/kernel_gpu_cuda_2.cu", "findRangeK", 333),
    ("bfs/kernel.cu", "Kernel", 500),
    ("bfs/kernel2.cu", "Kernel2", 4000),
    ("backprop/backprop_cuda_kernel.cu", "bpnn_layerforward_CUDA", 16000),
    ("backprop/backprop_cuda_kernel.cu", "bpnn_adjust_weights_cuda", 16000),
    ("kmeans/kmeans_cuda_kernel.cu", "invert_mapping", 3000),
    ("streamcluster/streamcluster_cuda.cu", "kernel_compute_cost", 2000),
    ("nn/nn_cuda.cu", "euclid", 8000),
    ("gaussian/gaussian.cu", "Fan1", 80),
    ("gaussian/gaussian.cu", "Fan2", 20),
    ("gaussian/gaussian.cu", "Fan2", 40),
    *(("lud/cuda/lud_kernel.cu", f"lud_{name}", 64) for name in ("diagonal", "perimeter", "internal")),
    ("hotspot/hotspot.cu", "calculate_temp", 40),
    ("hotspot3D/opt1.cu", "hotspotOpt1", 48),
    ("pathfinder/pathfinder.cu", "dynproc_kernel", 4000),
    ("nw/needle_kernel.cu", "needle_cuda_shared_1", 4),
    ("nw/needle_kernel.cu", "needle_cuda_shared_2", 4),
    ("srad/srad_v1/extract_kernel.cu", "extract", 8000),
    ("srad/srad_v1/compress_kernel.cu", "compress", 8000),
    ("srad/srad_v1/prepare_kernel.cu", "prepare", 8000),
    ("srad/srad_v1/reduce_kernel.cu", "reduce", 8000),
    ("srad/srad_v1/srad_kernel.cu", "srad", 40),
    ("srad/srad_v1/srad2_kernel.cu", "srad2", 40),
    ("srad/srad_v2/srad_kernel.cu", "srad_cuda_1", 40),
    ("srad/srad_v2/srad_kernel.cu", "srad_cuda_2", 40),
    ("huffman/hist.cu", "histo_kernel", 6000, 0, 264),
    ("huffman/scanLargeArray_kernel.cu", "prescan", 8000, 0),
    ("huffman/scanLargeArray_kernel.cu", "prescan", 8000, 2),
    ("huffman/scanLargeArray_kernel.cu", "uniformAdd", 8000),
    ("huffman/vlc_kernel_sm64huff.cu", "vlc_encode_kernel_sm64huff", 8),
    ("dwt2d/components.cu", "c_CopySrcToComponents", 8000, 0),
    ("dwt2d/components.cu", "c_CopySrcToComponent", 8000, 1),
    ("dwt2d/dwt_cuda/fdwt53.cu", "fdwt53Kernel", 32, 1),
    ("dwt2d/dwt_cuda/fdwt97.cu", "fdwt97Kernel", 32, 2),
    ("dwt2d/dwt_cuda/rdwt53.cu", "rdwt53Kernel", 32, 2),
    ("dwt2d/dwt_cuda/rdwt97.cu", "rdwt97Kernel", 32, 1),
    ("hybridsort/bucketsort_kernel.cu", "bucketprefixoffset", 200),
    ("hybridsort/histogram1024_kernel.cu", "histogram1024Kernel", 1000, 0, 64),
    ("cfd/euler3d.cu", "cuda_compute_step_factor", 1000),
    ("cfd/euler3d.cu", "cuda_compute_flux", 500),
    ("cfd/euler3d.cu", "cuda_time_step", 1000),
    ("cfd/euler3d_double.cu", "cuda_compute_flux", 500),
    ("cfd/euler3d_double.cu", "cuda_compute_step_factor", 1000),
    ("cfd/pre_euler3d.cu", "cuda_compute_flux_contributions", 1000),
    ("cfd/pre_euler3d.cu", "cuda_compute_flux", 500),
    ("lavaMD/kernel/kernel_gpu_cuda.cu", "kernel_gpu_cuda", 1000),
    ("particlefilter/ex_particle_CUDA_float_seq.cu", "find_index_kernel", 40),
    ("particlefilter/ex_particle_CUDA_naive_seq.cu", "kernel", 40),
    ("particlefilter/ex_particle_CUDA_float_seq.cu", "likelihood_kernel", 2000),
)  # fmt: skip
_SAMPLES = (
    (INTRODUCTION + "matrixMul/matrixMul.cu", "MatrixMulCUDA", 12, 0),
    (INTRODUCTION + "matrixMul/matrixMul.cu", "MatrixMulCUDA", 12, 1),
    (INTRODUCTION + "matrixMulDrv/matrixMul_kernel.cu", "matrixMul_bs8_64bit", 8),
    (INTRODUCTION + "mergeSort/bitonic.cu", "bitonicSortSharedKernel", 2000),
    (INTRODUCTION + "mergeSort/mergeSort.cu", "mergeSortSharedKernel", 2000),
    (INTRODUCTION + "mergeSort/mergeSort.cu", "mergeElementaryIntervalsKernel", 2000),
    (INTRODUCTION + "mergeSort/bitonic.cu", "bitonicMergeElementaryIntervalsKernel", 2000),
    (INTRODUCTION + "vectorAdd/vectorAdd.cu", "vectorAdd", 4000),
    (INTRODUCTION + "vectorAdd/vectorAdd.cu", "vectorAdd", 300),
    (INTRODUCTION + "simpleStreams/simpleStreams.cu", "init_array", 16000),
    (INTRODUCTION + "simpleMPI/simpleMPI.cu", "simpleMPIKernel", 16000),
    (INTRODUCTION + "simpleAtomicIntrinsics/simpleAtomicIntrinsics_kernel.cuh", "testKernel", 128),
    (CONCEPTS + "boxFilter/boxFilter_kernel.cu", "d_boxfilter_x_global", 16),
    (CONCEPTS + "boxFilter/boxFilter_kernel.cu", "d_boxfilter_y_global", 16),
    (CONCEPTS + "boxFilter/boxFilter_kernel.cu", "d_boxfilter_rgba_y", 16),
    (CONCEPTS + "convolutionSeparable/convolutionSeparable.cu", "convolutionRowsKernel", 4),
    (CONCEPTS + "convolutionSeparable/convolutionSeparable.cu", "convolutionColumnsKernel", 4),
    (CONCEPTS + "dct8x8/dct8x8_kernel2.cuh", "CUDAkernel2DCT", 64),
    (CONCEPTS + "dct8x8/dct8x8_kernel2.cuh", "CUDAkernel2IDCT", 64),
    (CONCEPTS + "dct8x8/dct8x8_kernel_short.cuh", "CUDAkernelShortDCT", 64),
    (CONCEPTS + "dct8x8/dct8x8_kernel_quantization.cuh", "CUDAkernelQuantizationFloat", 128),
    (CONCEPTS + "histogram/histogram256.cu", "histogram256Kernel", 16),
    (CONCEPTS + "histogram/histogram64.cu", "histogram64Kernel", 16),
    (CONCEPTS + "histogram/histogram256.cu", "mergeHistogram256Kernel", 40),
    (CONCEPTS + "inlinePTX/inlinePTX.cu", "sequence_gpu", 16000),
    (CONCEPTS + "reduction/reduction_kernel.cu", "reduce0", 2048, 0),
    (CONCEPTS + "reduction/reduction_kernel.cu", "reduce1", 2048, 1),
    (CONCEPTS + "reduction/reduction_kernel.cu", "reduce2", 1024, 2),
    (CONCEPTS + "reduction/reduction_kernel.cu", "reduce3", 2048, 1),
    (CONCEPTS + "reduction/reduction_kernel.cu", "reduce4", 2048, 4),
    (CONCEPTS + "reduction/reduction_kernel.cu", "reduce5", 2048, 4),
    (CONCEPTS + "reduction/reduction_kernel.cu", "reduce6", 32),
    (CONCEPTS + "threadFenceReduction/threadFenceReduction_kernel.cuh", "reduceMultiPass", 16),
    (CONCEPTS + "scalarProd/scalarProd_kernel.cuh", "scalarProdGPU", 8),
    (CONCEPTS + "scan/scan.cu", "scanExclusiveShared", 2000, 0),
    (CONCEPTS + "scan/scan.cu", "uniformUpdate", 4000),
    (CONCEPTS + "shfl_scan/shfl_scan.cu", "shfl_scan_test", 8000),
    (CONCEPTS + "shfl_scan/shfl_scan.cu", "uniform_add", 8000),
    (CONCEPTS + "shfl_scan/shfl_integral_image.cuh", "shfl_intimage_rows", 2000),
    (CONCEPTS + "shfl_scan/shfl_integral_image.cuh", "shfl_vertical_shfl", 120),
    (CONCEPTS + "segmentationTreeThrust/kernels.cuh", "getVerticesMapping", 8000),
    (CONCEPTS + "segmentationTreeThrust/kernels.cuh", "calculateEdgesInfo", 8000),
    (CONCEPTS + "segmentationTreeThrust/kernels.cuh", "getRepresentatives", 4000),
    (CONCEPTS + "sortingNetworks/bitonicSort.cu", "bitonicSortShared", 500),
    (CONCEPTS + "sortingNetworks/bitonicSort.cu", "bitonicMergeGlobal", 2048),
    (CONCEPTS + "sortingNetworks/bitonicSort.cu", "bitonicMergeShared", 512),
    (CONCEPTS + "sortingNetworks/oddEvenMergeSort.cu", "oddEvenMergeSortShared", 500),
    (CONCEPTS + "sortingNetworks/oddEvenMergeSort.cu", "oddEvenMergeGlobal", 2048),
    (CONCEPTS + "particles/particles_kernel_impl.cuh", "calcHashD", 8000),
    (CONCEPTS + "particles/particles_kernel_impl.cuh", "reorderDataAndFindCellStartD", 4000),
    (FEATURES + "StreamPriorities/StreamPriorities.cu", "memcpy_kernel", 3000, 0, WIDE),
    (FEATURES + "globalToShmemAsyncCopy/globalToShmemAsyncCopy.cu", "MatrixMulNaive", 16),
    (FEATURES + "globalToShmemAsyncCopy/globalToShmemAsyncCopy.cu", "MatrixMulNaiveLargeChunk", 16),
    (FEATURES + "globalToShmemAsyncCopy/globalToShmemAsyncCopy.cu", "MatrixMulAsyncCopySingleStage", 16),
    (FEATURES + "cudaCompressibleMemory/saxpy.cu", "saxpy", 4000, 0, WIDE),
    (FEATURES + "warpAggregatedAtomicsCG/warpAggregatedAtomicsCG.cu", "filter_arr", 4000, 0, WIDE),
    (LIBRARIES + "oceanFFT/oceanFFT_kernel.cu", "generateSpectrumKernel", 64),
    (LIBRARIES + "oceanFFT/oceanFFT_kernel.cu", "updateHeightmapKernel", 96),
    (LIBRARIES + "oceanFFT/oceanFFT_kernel.cu", "calculateSlopeKernel", 96),
    (LIBRARIES + "lineOfSight/lineOfSight.cu", "computeVisibilities_kernel", 8000),
    (LIBRARIES + "simpleCUFFT/simpleCUFFT.cu", "ComplexPointwiseMulAndScale", 8000, 0, WIDE),
    (LIBRARIES + "simpleCUFFT_2d_MGPU/simpleCUFFT_2d_MGPU.cu", "solvePoisson", 96),
    (DOMAIN + "BlackScholes/BlackScholes_kernel.cuh", "BlackScholesGPU", 2000),
    (DOMAIN + "binomialOptions/binomialOptions_kernel.cu", "binomialOptionsKernel", 132),
    (DOMAIN + "FDTD3d/inc/FDTD3dGPUKernel.cuh", "FiniteDifferencesKernel", 16),
    (DOMAIN + "HSOpticalFlow/solverKernel.cuh", "JacobiIteration", 32),
    (DOMAIN + "Mandelbrot/Mandelbrot_cuda.cu", "Mandelbrot0", 16, 0, 528),
    (DOMAIN + "Mandelbrot/Mandelbrot_cuda.cu", "Mandelbrot0", 16, 2, 528),
    (DOMAIN + "Mandelbrot/Mandelbrot_cuda.cu", "MandelbrotDS0", 16, 0, 528),
    (DOMAIN + "fluidsGL/fluidsGL_kernels.cu", "diffuseProject_k", 64),
    (DOMAIN + "fluidsGL/fluidsGL_kernels.cu", "updateVelocity_k", 64),
    (DOMAIN + "fluidsGL/fluidsGL_kernels.cu", "advectParticles_k", 64),
    (DOMAIN + "nbody/bodysystemcuda.cu", "integrateBodies", 8),
    (DOMAIN + "dwtHaar1D/dwtHaar1D_kernel.cuh", "dwtHaar1D", 16000),
    (DOMAIN + "fastWalshTransform/fastWalshTransform_kernel.cuh", "fwtBatch1Kernel", 4000, 1),
    (DOMAIN + "fastWalshTransform/fastWalshTransform_kernel.cuh", "fwtBatch2Kernel", 1500),
    (DOMAIN + "quasirandomGenerator/quasirandomGenerator_kernel.cu", "inverseCNDKernel", 4000, 0, 264),
    (DOMAIN + "recursiveGaussian/recursiveGaussian_kernel.cuh", "d_transpose", 64),
    (DOMAIN + "recursiveGaussian/recursiveGaussian_kernel.cuh", "d_recursiveGaussian_rgba", 32),
    (DOMAIN + "simpleD3D11/sinewave_cuda.cu", "sinewave_gen_kernel", 64),
    (DOMAIN + "simpleD3D11Texture/texture_2d.cu", "cuda_kernel_texture_2d", 64),
    (DOMAIN + "simpleGL/simpleGL.cu", "simple_vbo_kernel", 64),
    (DOMAIN + "simpleVulkan/SineWaveSimulation.cu", "sinewave", 96, 0, WIDE),
    (PERFORMANCE + "UnifiedMemoryPerf/matrixMultiplyPerf.cu", "matrixMultiplyKernel", 16),
    *((PERFORMANCE + "alignedTypes/alignedTypes.cu", "testKernel", 1000, n, WIDE) for n in (0, 3, 4, 11)),
    *(
        (PERFORMANCE + "transpose/transpose.cu", name, 40)
        for name in (
            *("copy", "copySharedMem", "transposeNaive", "transposeCoalesced"),
            *("transposeNoBankConflicts", "transposeDiagonal", "transposeFineGrained"),
            "transposeCoarseGrained",
        )
    ),
)  # fmt: skip


@cache
def foreign_launches() -> tuple[ForeignLaunch, ...]:
    """Return all launches."""
    rows: dict[str, Any] = {ACC: _POLYBENCH, RODINIA: _RODINIA, SAMPLES: _SAMPLES}
    return tuple(
        ForeignLaunch(suite, FOLDERS[suite] + row[0], *row[1:])
        for suite, part in rows.items()
        for row in part
    )
