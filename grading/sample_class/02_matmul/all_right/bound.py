bound = {
    "gwords": 141.7 / 4,
    "words": 17,
    "flops": 32,
    "K1 bound": 141.7 / 4 * 32 / 17,
    "K1 bound, whole warp": 141.7 / 4 * 64 / 33,
    "K5 bound": 16 * 141.7 / 4,
}
