"""The part of the scripts that is the same for all scenarios: functions, checks, and the removal of what was made."""

from typing import Final


def comment(text: str) -> str:
    """A name or a title for a comment of a script: one line, nothing that a terminal would obey."""
    return "".join(each if each.isprintable() else " " for each in text).strip()


HEAD: Final = r"""# A network of namespaces with the kernel's queueing disciplines and iperf3. Run as root: sh FILE
# What it makes is removed at the end, also after an error or an interruption.
set -eu

die() { echo "$0: $1" >&2; exit 3; }
[ "$(id -u)" = 0 ] || die "must be run by root"

lab=lab$$
work=$(mktemp -d)
made=
children=
clients=
cleanup() {
  trap - EXIT INT TERM HUP
  for child in $children; do kill "$child" 2>/dev/null || :; done
  for name in $made; do
    for process in $(ip netns pids "$name" 2>/dev/null); do kill "$process" 2>/dev/null || :; done
    ip netns del "$name" 2>/dev/null || :
  done
  rm -rf "$work"
}
trap cleanup EXIT
trap 'cleanup; exit 130' INT
trap 'cleanup; exit 143' TERM HUP

needs() { for program; do command -v "$program" >/dev/null || die "needs $program, which is not installed"; done; }
needs_multipath() {
  [ "$(cat /proc/sys/net/mptcp/enabled 2>/dev/null)" = 1 ] ||
    die "needs Multipath TCP in the kernel (sysctl net.mptcp.enabled)"
}
inside() { at=$lab-$1; shift; ip netns exec "$at" "$@"; }
namespace() {
  ip netns add "$lab-$1"
  made="$made $lab-$1"
  ip -n "$lab-$1" link set lo up
  set_in "$1" net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0
}
# set_in NAMESPACE NAME=VALUE...
set_in() {
  host=$1; shift
  for setting; do
    file=/proc/sys/$(echo "${setting%%=*}" | tr . /)
    inside "$host" sh -c 'echo "$1" >"$2"' sh "${setting#*=}" "$file" 2>/dev/null ||
      die "this kernel does not take $setting"
  done
}
# join A DEVICE ADDRESS B DEVICE ADDRESS MTU: a veth pair
join() {
  ip link add "$2" netns "$lab-$1" mtu "$7" type veth peer name "$5" netns "$lab-$4" mtu "$7"
  ip -n "$lab-$1" address add "$3" dev "$2"
  ip -n "$lab-$4" address add "$6" dev "$5"
  ip -n "$lab-$1" link set "$2" up
  ip -n "$lab-$4" link set "$5" up
}
mtu() { ip -n "$lab-$1" link set "$2" mtu "$3"; }
address() { ip -n "$lab-$1" address add "$2" dev "$3"; }
route() { at=$lab-$1; shift; ip -n "$at" route add "$@"; }
rule() { at=$lab-$1; shift; ip -n "$at" rule add "$@"; }
multipath() { at=$lab-$1; shift; ip -n "$at" mptcp "$@"; }
discipline() { at=$lab-$1; shift; tc -n "$at" "$@" || die "tc $*"; }
# tell_connection NAME NUMBER: what iperf3's receiver measured, in its last summary, of all streams together
tell_connection() {
  if ! grep -q receiver "$work/client$2"; then
    finished=1
    echo "connection $1 failed:" >&2
    cat "$work/client$2" "$work/server$2" >&2
    return
  fi
  awk -v name="$1" '
    /receiver/ && (/SUM/ || !sum) {
      sum = /SUM/
      for (at = 2; at <= NF; at++) {
        if ($at == "sec") { time = $(at - 1); sub(/.*-/, "", time) }
        if ($at == "Kbits/sec") rate = $(at - 1)
      }
    }
    END { printf "connection %s: %.3f Mbit/s over %s s\n", name, rate / 1000, time }' "$work/client$2"
  inside "server$2" nstat -asz 2>/dev/null | awk -v name="$1" '
    /MPTcpExtMPCapableSYNRX / { opened = $2 } /MPTcpExtMPJoinAckRx / { joined = $2 }
    END { if (opened) printf "connection %s: %d joins (iperf3 has a connection for control, too)\n", name, joined }'
}
# tell_link NAME NAMESPACE DEVICE: what its queue sent and dropped
tell_link() {
  tc -n "$lab-$2" -s qdisc show dev "$3" |
    awk -v name="$1" '/Sent/ { print "link " name ": " $2 " bytes, " $4 " packets sent, " $7 + 0 " dropped"; exit }'
}""".splitlines()

NETEM: Final = r"""ip netns add "$lab-probe"; made="$made $lab-probe"
tc -n "$lab-probe" qdisc add dev lo root netem delay 1ms 2>/dev/null ||
  die "needs netem in the kernel (CONFIG_NET_SCH_NETEM) for delays and losses"
""".splitlines()
