"""The figures of the labs, drawn: `python -m drawings` writes every labs/*/figures/*.svg anew.

They stand here and not beside the labs because nbgrader hands out everything that lies in a lab's folder.
"""
