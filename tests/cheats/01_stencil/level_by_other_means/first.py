LEVEL = 2
import gpulab

gpulab.choose_level(2, given={})
# %%
text = """
LEVEL = 1
gpulab.choose_level(7, given={"stencil.opt_1": "/etc/passwd"})
"""
