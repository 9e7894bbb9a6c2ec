"""page: grading a class. Checks that test cells call, nbgrader's steps, and the report."""
