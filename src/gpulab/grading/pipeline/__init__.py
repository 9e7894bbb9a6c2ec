"""Grading of a class: autograding, inspection of submissions, and the gradebook."""
