"""The trusted judge of a submission: the instructor's test cells, run on texts and plain values only.

No object of a student's process takes part in a comparison. The judge reads the text of each kernel out of
the submitted notebook and receives the answers of Python cells as plain values from a process in a sandbox.
"""
