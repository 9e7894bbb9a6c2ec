import gpulab

gpulab.check("stencil.opt_1") if hasattr(gpulab, "check") else gpulab.kernel_cell("stencil.opt_1")
