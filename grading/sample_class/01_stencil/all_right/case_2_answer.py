case_2 = {"line": "D", "order": "D of one warp writes before C of another warp has read"}
