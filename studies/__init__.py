"""Studies: the simulator held against theory, one module a study; docs/validation.md has their tables.

`python -m studies` lists them, `python -m studies NAME` runs one and prints its tables in Markdown.
The tests under tests/validation/ run the same functions on fewer points and shorter runs.
"""
