"""All declarations: importing this module fills `launches.declarations`."""

from benchmarks.compatibility import (
    llm_c,
    rodinia,
    rodinia_heartwall,
    rodinia_myocyte,
    rodinia_physics,
    samples_concepts,
    samples_domain,
    samples_features,
    samples_images,
    samples_introduction,
    samples_others,
    samples_random,
    samples_textures,
    samples_volumes,
    sgemm_cuda,
)

__all__ = [
    "llm_c",
    "rodinia",
    "rodinia_heartwall",
    "rodinia_myocyte",
    "rodinia_physics",
    "samples_concepts",
    "samples_domain",
    "samples_features",
    "samples_images",
    "samples_introduction",
    "samples_others",
    "samples_random",
    "samples_textures",
    "samples_volumes",
    "sgemm_cuda",
]
