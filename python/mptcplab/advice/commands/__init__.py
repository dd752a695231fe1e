"""A setting as lines to paste, for each of the programs that configure Linux's network."""

from collections.abc import Sequence

from mptcplab.advice.candidates import Candidate
from mptcplab.advice.commands import iproute, networkd, networkmanager, uci
from mptcplab.advice.commands.setup import Setup

FORMS = {"ip": iproute, "networkmanager": networkmanager, "networkd": networkd, "uci": uci}
"""By name, what prints the lines."""


def commands(
    candidate: Candidate, paths: Sequence[str], *, ipv6: bool = False, upload: str = ""
) -> dict[str, tuple[str, ...]]:
    """By form; none for what no stock kernel has. Lines with # explain, words in capitals are to be filled in.

    `paths` are all of the network, also those that the setting leaves out. `ipv6`: routes and addresses are of IPv6.
    `upload`: the control for what the host with the paths sends, if it is another.
    """
    if not candidate.stock:
        return dict.fromkeys(FORMS, ())
    setup = Setup.of(candidate, paths, ipv6=ipv6, upload=upload)
    return {name: tuple(form.lines(setup)) for name, form in FORMS.items()}
