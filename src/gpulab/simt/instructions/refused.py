"""Instructions that the simulator does not support, with the reason."""

from __future__ import annotations

from gpulab.simt.codegen.instruction_forms import refuses

refuses("matrix products of a warp group", "wgmma")
refuses("tensor memory, of compute capability 10.0", "tcgen05")
refuses("gathers of four texels", "tld4")
refuses("queries of textures and surfaces", "txq", "suq", "istypep")
refuses("formatted accesses to surfaces, and reductions", "suld.p", "sust.p", "sured")
refuses("the tensor memory accelerator", "tensormap")
refuses("thread block clusters", "mapa", "getctarank", "clusterlaunchcontrol")
refuses("multicast to several GPUs", "multimem")
