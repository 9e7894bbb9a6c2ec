strip_mined = "lambda *args: None"
