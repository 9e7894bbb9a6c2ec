"""Views of results as HTML, SVG and terminal text. Nothing here imports Jupyter."""
