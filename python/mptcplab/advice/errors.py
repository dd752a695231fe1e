"""What advice raises for a question that cannot be answered as it was put."""

from mptcplab.errors import Error


class AdviceError(Error, ValueError):
    """Something about the question is wrong; the message says where, what was found and what would do."""

    def __init__(self, where: str, found: str, expected: str) -> None:
        super().__init__(f"{where}: found {found}; expected {expected}")
        self.where = where
        self.found = found
        self.expected = expected
