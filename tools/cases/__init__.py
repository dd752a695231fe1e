"""The book of cases as the page docs/cases.md: `python -m tools.cases run` runs all cases, `… page` only writes it."""
