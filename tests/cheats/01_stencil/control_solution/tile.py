tile = {"bytes_without_halo": None, "bytes_with_halo": None, "halo_points": None,
        "readers_inside": None, "readers_of_halo": None}
x, y = tile_task.block_x, tile_task.block_y
tile = {
    "bytes_without_halo": 4 * x * y,
    "bytes_with_halo": 4 * (x + 2) * (y + 2),
    "halo_points": 2 * (x + y),
    "readers_inside": 5,
    "readers_of_halo": 1,
}
