"""How TCP behaves, for both ends and each subflow: the table `tcp` of a connection."""

from mptcplab.scenario.declared import Declared, Settings

TCP = Settings("tcp", "the options of TCP, a table such as { pacing = true }", "the options of TCP, a table")


def defaults() -> Declared:
    """What a connection without `tcp` has: Linux's."""
    tcp: Declared = TCP.validate({})
    return tcp
