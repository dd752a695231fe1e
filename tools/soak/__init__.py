"""When a command is killed, or the disk is full, what is there is the old or the new, never a mixture.

`python -m tools.soak` says which soaks there are.
"""
