"""The base of all errors that are for the caller of the package to catch."""


class Error(Exception):
    """Base class of all errors: invalid input, or something that cannot be done; the message says what to do."""


class EngineUnavailableError(Error, RuntimeError):
    """The engine cannot be used on this machine; the message says why and what to do."""


class PrivilegeError(EngineUnavailableError):
    """All that the engine lacks are privileges that it would have in a user namespace of its own."""


class UnknownEngineError(Error, ValueError):
    """There is no engine of that name."""


class BusyError(Error, RuntimeError):
    """Another process works with the same directory; nothing in it was changed."""


class PluginError(Error, RuntimeError):
    """A plug-in failed while it ran: it raised, answered what makes no sense, or took too long.

    The message says when, for which connection and why, and has the traceback.
    """


class PluginLoadError(Error, ValueError):
    """There is no such plug-in, or it cannot be used."""

    def __init__(self, found: str, expected: str, key: str | None = None) -> None:
        super().__init__(f"found {found}; expected {expected}")
        self.found = found
        self.expected = expected
        self.key = key
        """The parameter that it is about, if it is about one."""
