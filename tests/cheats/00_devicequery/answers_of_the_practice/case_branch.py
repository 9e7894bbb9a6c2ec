case_branch = {"line": 10, "who": "Threads with i >= n", "order": "not all threads of a block reach it"}
