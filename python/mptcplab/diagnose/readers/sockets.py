"""`ss -ntMiem` and its kin: a line for each socket, and an indented one with the details.

Names and forms of iproute2's misc/ss.c, 5.8 to 6.17; a subflow is a TCP socket whose details say `tcp-ulp-mptcp`.
"""

import re
from functools import lru_cache
from ipaddress import ip_address
from itertools import zip_longest
from typing import Final

from mptcplab.diagnose.facts import MAX_SOCKETS, End, Host, Line, Socket
from mptcplab.diagnose.readers.context import Context
from mptcplab.diagnose.text import names, number

_STATES: Final = names(
    "ESTAB SYN-SENT SYN-RECV FIN-WAIT-1 FIN-WAIT-2 TIME-WAIT UNCONN CLOSE-WAIT LAST-ACK LISTEN CLOSING"
)
_HEADERS: Final = ("Netid State", "State Recv-Q", "Netid  State", "State ", "Recv-Q Send-Q")
_ARROWS: Final = ("<->", "-->", "---")
_RATES: Final = frozenset(("send", "pacing_rate", "delivery_rate"))
_WORDS: Final = names(
    "ts usec_ts sack ecn ecnseen fastopen app_limited fallback remote_key bidir tcp-ulp-mptcp accecn tcp-ulp-tls"
)
_KNOWN: Final = names(
    "skmem mem wscale rto backoff rtt ato qack mss pmtu rcvmss advmss cwnd ssthresh bytes_sent "
    "bytes_retrans bytes_acked  bytes_received segs_out segs_in data_segs_out data_segs_in lastsnd "
    "lastrcv lastack delivered delivered_ce busy  rwnd_limited sndbuf_limited unacked retrans lost sacked "
    "dsack_dups fackets reordering reord_seen rcv_rtt rcv_space  rcv_ssthresh notsent minrtt rcv_ooopack "
    "snd_wnd rcv_wnd rehash flags token seq sfseq ssnoff maplen subflows  add_addr_signal "
    "add_addr_accepted subflows_max add_addr_signal_max add_addr_accepted_max write_seq snd_una rcv_nxt "
    "local_addr_used local_addr_max csum_enabled retransmits subflows_total endp_laminar_max "
    "last_data_sent  last_data_recv last_ack_recv timer uid ino sk cgroup users bbr dctcp fwmark v6only "
    "tos tclass class_id"
)
_PORT: Final = re.compile(r"\*|[A-Za-z0-9_.+-]{1,40}")
_MAX_TOKENS: Final = 400


def read(line: Line, host: Host, context: Context) -> bool:
    """Whether the line is of ss."""
    if context.socket is not None and _is_detail(line.text, context.socket):
        context.socket.detail = context.socket.detail or line
        _details(line.text.split()[:_MAX_TOKENS], context.socket, context)
        return True
    line = line._replace(text=line.text.strip())
    if line.text.startswith(_HEADERS):
        return "Address:Port" in line.text
    found = _first(line, context)
    if found is None:
        return False
    if len(host.sockets) < MAX_SOCKETS:
        host.sockets.append(found)
    context.socket = found
    return True


def _is_detail(text: str, socket: Socket) -> bool:
    """Whether a line goes on with a socket: it is indented, or lost that, or was broken, and has names of details."""
    words = text.split()[:_MAX_TOKENS]
    if not words or (words[0] in ("tcp", "mptcp") and len(words) > 4) or words[0] in _STATES:
        return False
    if text[0] in " \t" and socket.detail is None:
        return True
    known = sum(word.partition(":")[0] in _KNOWN and ":" in word for word in words)
    known += sum(word in _WORDS or word in _RATES or word in _ARROWS or word.endswith("bps") for word in words)
    return 2 * known >= len(words)


def _first(line: Line, context: Context) -> Socket | None:
    words = line.text.split(maxsplit=_MAX_TOKENS)
    kind = words.pop(0) if words and words[0] in ("tcp", "mptcp") else ""
    if len(words) < 5 or words[0] not in _STATES:
        return None
    state, received, sent, *rest = words
    recv_q, send_q = number(received), number(sent)
    local, remote = _end(rest[0]), _end(rest[1])
    if recv_q is None or send_q is None or local is None or remote is None:
        return None
    found = Socket(line, kind, state, recv_q, send_q, local, remote, context.time_s)
    _details(rest[2:], found, context)
    if not kind and "M" in _options(context.command) and "t" not in _options(context.command):
        found.kind = "mptcp"
    return found


def _options(command: str) -> str:
    return "".join(word[1:] for word in command.split()[1:] if word[:1] == "-" and word[:2] != "--")


def _end(text: str) -> End | None:
    address, colon, port = text.rpartition(":")
    if not colon or len(text) > 100 or not _PORT.fullmatch(port):
        return None
    address, _, device = address.partition("%")
    address = address.strip("[]")
    if address == "*":
        return End("*", port, device.strip("]"))
    plain = _address(address)
    return None if plain is None else End(plain, port, device.strip("]"))


@lru_cache(4096)
def _address(text: str) -> str | None:
    """The address in its usual form; None for none."""
    try:
        plain = ip_address(text)
    except ValueError:
        return None
    return str(getattr(plain, "ipv4_mapped", None) or plain)


def _details(words: list[str], found: Socket, context: Context) -> None:
    skip = False
    for word, after in zip_longest(words, words[1:], fillvalue=""):
        if skip:
            skip = False
        elif word in _RATES:
            found.fields[word] = after.partition("/")[0]
            skip = True
        elif word in _WORDS:
            found.words.add(word)
        elif ":" in word:
            name, _, value = word.partition(":")
            if name in _KNOWN:
                found.fields[name] = value[:200]
            else:
                context.pass_over(name)
        elif word.isalnum() or "-" in word or "_" in word:
            if found.congestion is None and word[0].isalpha():
                found.congestion = word[:40]
            elif word not in _ARROWS:
                context.pass_over(word)
    if not found.kind:
        if "tcp-ulp-mptcp" in found.words or found.congestion or "cwnd" in found.fields:
            found.kind = "tcp"
        elif "subflows" in found.fields or "rcv_nxt" in found.fields or "remote_key" in found.words:
            found.kind = "mptcp"
