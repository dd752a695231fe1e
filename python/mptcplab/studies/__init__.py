"""Studies: the simulator held against theory, one module a study; docs/validation.md has their tables.

`python -m mptcplab.studies` lists them, `python -m mptcplab.studies NAME` runs one and prints its tables in Markdown.
The tests under tests/validation/ run the same functions on fewer points and shorter runs.
"""
