predicted_sectors = {"shifted": 77, "shared": 77, "strided": 77}
