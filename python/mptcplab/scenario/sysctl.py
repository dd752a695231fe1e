"""What a scenario sets at the kernels of its hosts beyond its own keys: `sysctl`, a list of names that are checked."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from mptcplab.scenario.errors import did_you_mean, one_of, show
from mptcplab.scenario.value_types import ValueType, Wrong, fault, faults

Value = int | str


@dataclass(frozen=True)
class _Range:
    """One or several whole numbers."""

    low: int
    high: int
    count: int = 1

    @property
    def expected(self) -> str:
        """In words."""
        if self.count == 1:
            return f"a whole number from {self.low} to {self.high}"
        return f"a string of {self.count} whole numbers from {self.low} to {self.high}"

    def holds(self, value: object) -> bool:
        """Whether the value is one."""
        if self.count == 1:
            return isinstance(value, int) and not isinstance(value, bool) and self.low <= value <= self.high
        words = value.split() if isinstance(value, str) else []
        numbers = [int(word) for word in words if word.isdecimal()]
        return len(words) == len(numbers) == self.count and all(self.low <= each <= self.high for each in numbers)


_SWITCH: Final = _Range(0, 1)
_SECONDS: Final = _Range(0, 86_400)
_COUNT: Final = _Range(0, 255)
_BYTES: Final = _Range(0, 2**31 - 1)
_MEMORY: Final = _Range(1, 2**31 - 1, count=3)

NAMES: Final[Mapping[str, _Range]] = {
    "net.mptcp.add_addr_timeout": _SECONDS,
    "net.mptcp.blackhole_timeout": _SECONDS,
    "net.mptcp.close_timeout": _SECONDS,
    "net.mptcp.stale_loss_cnt": _COUNT,
    "net.mptcp.syn_retrans_before_tcp_fallback": _COUNT,
    "net.ipv4.tcp_adv_win_scale": _Range(-31, 31),
    "net.ipv4.tcp_autocorking": _SWITCH,
    "net.ipv4.tcp_base_mss": _Range(48, 65_535),
    "net.ipv4.tcp_comp_sack_delay_ns": _BYTES,
    "net.ipv4.tcp_comp_sack_nr": _COUNT,
    "net.ipv4.tcp_comp_sack_slack_ns": _BYTES,
    "net.ipv4.tcp_dsack": _SWITCH,
    "net.ipv4.tcp_fin_timeout": _SECONDS,
    "net.ipv4.tcp_frto": _Range(0, 2),
    "net.ipv4.tcp_limit_output_bytes": _BYTES,
    "net.ipv4.tcp_max_reordering": _Range(0, 65_535),
    "net.ipv4.tcp_min_tso_segs": _COUNT,
    "net.ipv4.tcp_moderate_rcvbuf": _SWITCH,
    "net.ipv4.tcp_mtu_probing": _Range(0, 2),
    "net.ipv4.tcp_notsent_lowat": _BYTES,
    "net.ipv4.tcp_pacing_ca_ratio": _Range(0, 1000),
    "net.ipv4.tcp_pacing_ss_ratio": _Range(0, 1000),
    "net.ipv4.tcp_reordering": _Range(1, 300),
    "net.ipv4.tcp_retries1": _COUNT,
    "net.ipv4.tcp_retries2": _COUNT,
    "net.ipv4.tcp_rmem": _MEMORY,
    "net.ipv4.tcp_rto_min_us": _Range(1, 1_000_000),
    "net.ipv4.tcp_rto_max_ms": _Range(1000, 120_000),
    "net.ipv4.tcp_shrink_window": _SWITCH,
    "net.ipv4.tcp_slow_start_after_idle": _SWITCH,
    "net.ipv4.tcp_syn_retries": _Range(1, 127),
    "net.ipv4.tcp_synack_retries": _COUNT,
    "net.ipv4.tcp_thin_linear_timeouts": _SWITCH,
    "net.ipv4.tcp_timestamps": _Range(0, 2),
    "net.ipv4.tcp_tso_rtt_log": _Range(0, 255),
    "net.ipv4.tcp_window_scaling": _SWITCH,
    "net.ipv4.tcp_wmem": _MEMORY,
}
"""Parameters that each network namespace has for itself and that no other key of a scenario sets."""
_OTHER_KEYS: Final[Mapping[str, str]] = {
    "net.ipv4.tcp_congestion_control": "congestion of a connection",
    "net.ipv4.tcp_ecn": "ecn of a connection",
    "net.ipv4.tcp_sack": "tcp.loss_detection of a connection",
    "net.ipv4.tcp_recovery": "tcp.loss_detection of a connection",
    "net.ipv4.tcp_early_retrans": "tcp.loss_detection of a connection",
    "net.mptcp.checksum_enabled": "checksum of a connection",
    "net.mptcp.allow_join_initial_addr_port": "limits.HOST.allow_join_initial_addr_port",
    "net.mptcp.enabled": "protocol of a connection",
}
_EXPECTED: Final = 'a table of kernel parameters, such as { "net.ipv4.tcp_shrink_window" = 1 }'


def _validate(value: object) -> dict[str, Value]:
    if not isinstance(value, dict):
        raise fault(show(value), _EXPECTED)
    wrong: list[Wrong] = []
    for name, each in value.items():
        if name in _OTHER_KEYS:
            wrong.append(((name,), "a parameter that another key sets", _OTHER_KEYS[name]))
        elif name not in NAMES:
            hint = did_you_mean(name, NAMES)
            unquoted = "; names stand in quotation marks" if isinstance(each, dict) else ""
            wrong.append(((name,), f"an unknown parameter {show(name)}", f"{one_of(list(NAMES))}{hint}{unquoted}"))
        elif not NAMES[name].holds(each):
            wrong.append(((name,), show(each), NAMES[name].expected))
    if wrong:
        raise faults("sysctl", wrong)
    return dict(value)


def _schema() -> dict[str, object]:
    kinds = {
        name: {"type": "integer", "minimum": each.low, "maximum": each.high} if each.count == 1 else {"type": "string"}
        for name, each in NAMES.items()
    }
    return {"type": "object", "properties": kinds, "additionalProperties": False}


SYSCTL: Final = ValueType(_EXPECTED, _validate, schema=_schema)


def files(told: Mapping[str, Value]) -> dict[str, object]:
    """The values by their file below /proc/sys.

    >>> files({"net.ipv4.tcp_shrink_window": 1})
    {'net/ipv4/tcp_shrink_window': 1}
    """
    return {name.replace(".", "/"): value for name, value in told.items()}
