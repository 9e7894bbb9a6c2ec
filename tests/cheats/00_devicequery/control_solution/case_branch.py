case_branch = {"line": None, "who": None, "order": None}
case_branch = {
    "line": 10,
    "who": "threads with i >= n",
    "order": "not all threads of a block reach it",
}
