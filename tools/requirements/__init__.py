"""The table of requirements in docs/conformance.md, made from the cases and the lists in `conformance/`."""
