"""Release of assignments: nbgrader preprocessors, stubs, the rubric, and the sample class."""
