"""The validation figures and tables of docs/algorithms, made by the simulator through the Python API.

`python -m tools.figures` runs every study, writes its numbers (JSON), its figure (SVG and PNG) and the tables in the
pages; `python -m tools.figures NAME …` only those. The same sources give the same bytes.
"""
