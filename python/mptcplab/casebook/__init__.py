"""The book of cases: questions that somebody asked in public, as scenarios with an answer that a command checks.

A folder `cases/NAME/` has `scenario.toml` and `case.toml` (see `book`).
"""

from mptcplab.casebook.book import Bound, Case, CaseError, Check, Variant, case_names, load
from mptcplab.casebook.running import Found, Verdict, run, shown

__all__ = ["Bound", "Case", "CaseError", "Check", "Found", "Variant", "Verdict", "case_names", "load", "run", "shown"]
