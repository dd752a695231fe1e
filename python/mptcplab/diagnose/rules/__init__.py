"""Rules, one a cause: functions of a case (mptcplab.diagnose.rules.finding) that yield findings."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from mptcplab.diagnose.causes import CAUSES
from mptcplab.diagnose.rules import endpoints, joins, network, one_path, paths, protocol, rate, resets, routing, untold
from mptcplab.diagnose.rules.counted import weighed
from mptcplab.diagnose.rules.finding import Case, Finding

Rule = Callable[[Case], Iterator[Finding]]

PATHS: Final[Sequence[Rule]] = (
    protocol.mptcp_disabled,
    protocol.tcp_only,
    protocol.peer_without_mptcp,
    protocol.options_stripped,
    protocol.syn_blocked,
    resets.checksum,
    resets.mapping_lost,
    endpoints.limit_subflows,
    endpoints.no_endpoint,
    endpoints.add_addr_not_accepted,
    endpoints.address_removed,
    endpoints.interface_down,
    endpoints.endpoint_address,
    one_path.c_flag,
    joins.join_unanswered,
    joins.join_refused,
    joins.join_stripped,
    joins.join_rejected,
    joins.join_unknown,
    joins.join_hmac,
    routing.wrong_route,
    routing.no_route,
    resets.reset,
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
    network.loss,
    network.link,
    network.window_growing,
)
"""What limits the rate."""

UNTOLD: Final[Sequence[Rule]] = (untold.one_path, untold.rate_unknown)
"""What to ask where the others say nothing: of paths, and of the rate."""


def findings(case: Case) -> list[Finding]:
    """All that the rules find, and what to ask where they do not."""
    found = weighed(case, [finding for rule in PATHS for finding in rule(case)])
    of_paths, of_rate = UNTOLD
    found = found or list(of_paths(case))
    limits = [finding for rule in RATES for finding in rule(case)]
    found += limits or list(of_rate(case))
    assert all(finding.cause in CAUSES for finding in found)
    return found
