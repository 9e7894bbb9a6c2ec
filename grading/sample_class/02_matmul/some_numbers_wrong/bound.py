bound = {
    "gwords": 35.4,
    "words": 17,
    "flops": 32,
    "K1 bound": 100,
    "K1 bound, whole warp": None,
    "K5 bound": "many",
}
