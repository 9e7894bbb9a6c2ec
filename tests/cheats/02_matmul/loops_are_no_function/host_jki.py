jki_loops = 5
