counts = {"flops": True, "bytes": complex(3, 0), "flops per byte": "682.67"}
