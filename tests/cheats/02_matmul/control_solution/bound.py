import gpulab

lecture = gpulab.published.source("gtx280_lecture")
bound = {
    "gwords": None, "words": None, "flops": None,
    "K1 bound": None, "K1 bound, whole warp": None, "K5 bound": None,
}
gwords = lecture.figures["dram_gb_s"] / 4
bound = {
    "gwords": gwords,
    "words": 16 + 1,
    "flops": 16 * 2,
    "K1 bound": gwords * 32 / 17,
    "K1 bound, whole warp": gwords * 64 / 33,
    "K5 bound": gwords * 16,  # one operation a word without tiles
}
