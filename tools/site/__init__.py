"""What `make docs` adds to the pages in docs/."""
