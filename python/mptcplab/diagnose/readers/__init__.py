"""Readers of outputs, one file each: `read(line, host, context)` answers whether the line is of that kind."""
