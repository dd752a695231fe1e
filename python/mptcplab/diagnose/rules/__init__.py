"""Rules, one a cause: functions of a case (mptcplab.diagnose.rules.finding) that yield findings."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from mptcplab.diagnose.causes import CAUSES
from mptcplab.diagnose.rules import joins, one_path, paths, protocol, rate, routing, untold
from mptcplab.diagnose.rules.finding import Case, Finding

Rule = Callable[[Case], Iterator[Finding]]

PATHS: Final[Sequence[Rule]] = (
    protocol.mptcp_disabled,
    protocol.tcp_only,
    protocol.peer_without_mptcp,
    protocol.options_stripped,
    protocol.syn_blocked,
    protocol.checksum,
    protocol.mapping_lost,
    one_path.limit_subflows,
    one_path.no_endpoint,
    one_path.add_addr_not_accepted,
    one_path.address_removed,
    one_path.interface_down,
    one_path.endpoint_address,
    one_path.c_flag,
    joins.join_unanswered,
    joins.join_refused,
    joins.join_stripped,
    joins.join_rejected,
    joins.join_unknown,
    joins.join_hmac,
    routing.wrong_route,
    routing.no_route,
    protocol.reset,
    one_path.backup,
    paths.path_dead,
    paths.nat_rebinding,
)
"""Why there is TCP, or one path only."""

RATES: Final[Sequence[Rule]] = (
    rate.cpu,
    rate.application,
    rate.application_reads,
    rate.receive_window,
    rate.send_buffer,
    rate.head_of_line,
    rate.starved,
    rate.loss,
    rate.link,
    rate.window_growing,
)
"""What limits the rate."""

UNTOLD: Final[Sequence[Rule]] = (untold.one_path, untold.rate_unknown)
"""What to ask where the others say nothing: of paths, and of the rate."""


def findings(case: Case) -> list[Finding]:
    """All that the rules find, and what to ask where they do not."""
    found = [finding for rule in PATHS for finding in rule(case)]
    of_paths, of_rate = UNTOLD
    found = found or list(of_paths(case))
    limits = [finding for rule in RATES for finding in rule(case)]
    found += limits or list(of_rate(case))
    assert all(finding.cause in CAUSES for finding in found)
    return found
