"""Programs that draw the figures of the labs: `python -m drawings` writes all labs/*/figures/*.svg.

They are not in the folders of the labs because nbgrader releases every file of such a folder.
"""
