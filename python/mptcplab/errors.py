"""The base of all errors that are for the caller of the package to catch."""


class Error(Exception):
    """Something the laboratory cannot do, or a mistake in what it was given; the message says which and what to do."""


class EngineUnavailableError(Error, RuntimeError):
    """The engine exists but cannot be used on this machine; the message says why and what would help."""


class UnknownEngineError(Error, ValueError):
    """There is no engine of that name."""
