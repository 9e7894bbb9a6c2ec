case_branch = {"line": 9, "who": "threads with i >= n", "order": None}
