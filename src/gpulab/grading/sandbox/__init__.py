"""Isolation of submissions: processes for a student's Python, and markup that runs no script in a browser.

A module belongs here if it defends the grader's machine or the reader's browser against a submission. It
does not use points, cells or the gradebook.
"""
