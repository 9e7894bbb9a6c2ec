"""The grading pipeline: nbgrader's steps on a course, and an inspection of each submitted kernel."""
