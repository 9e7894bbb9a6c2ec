"""Release of assignments: nbgrader preprocessors, stubs, rubric, and the sample class."""
