#!/bin/sh
# Gathers into one file what `mptcplab diagnose` reads. It changes nothing. Run it as root, on each host, while the
# transfer runs; then `mptcplab diagnose FILE...`, on any machine. Usage: sh collect.sh [SECONDS [FILE]]
seconds=${1:-10}
out=${2:-mptcp-$(uname -n)-$(date +%Y%m%d-%H%M%S).txt}
umask 077
set -C # never write to what is there already

run() { # a section: the uptime and the command, then what the command prints
    read -r uptime _ </proc/uptime
    printf '\n=== %s %s\n' "$uptime" "$*"
    "$@" 2>&1
}
counters() { nstat -asz 2>/dev/null || cat /proc/net/netstat /proc/net/snmp; }
sockets() { ss -ntMieamp state all exclude time-wait 2>&1; }
cpu() { # of each program with a socket: nanoseconds on a CPU, and nanoseconds of waiting for one
    for pid in $(ss -ntMp 2>/dev/null | sed -n 's/.*pid=\([0-9]*\).*/\1/p' | sort -un | head -n 50); do
        read -r ran waited _ <"/proc/$pid/schedstat" && echo "pid $pid ran $ran waited $waited"
    done 2>/dev/null
}
sysctls() {
    sysctl -a 2>/dev/null | grep -E '^net\.(mptcp|ipv4\.tcp_|core\.[rw]mem)' | grep -v fastopen_key
}
logs() { (journalctl -n 3000 --no-pager || logread || dmesg) 2>/dev/null | grep -iE 'mptcp|omr-|post-tracking|netifd' | tail -n 100; }

{
    echo "=== mptcplab collect 1, host $(uname -n), kernel $(uname -r)"
    run ip mptcp limits show
    run ip mptcp endpoint show
    for family in -4 -6; do
        run ip $family rule show
        run ip $family route show table all
    done
    run sysctls
    run counters
    run ip -s link show
    ip mptcp monitor >"$out.monitor" 2>&1 &
    monitor=$!
    trap 'kill "$monitor" 2>/dev/null; rm -f "$out.monitor"' EXIT
    trap 'exit 1' INT TERM
    run cpu
    run sockets
    sleep "$((seconds / 2))"
    run sockets
    sleep "$((seconds - seconds / 2))"
    run sockets
    run cpu
    run cat "$out.monitor"
    run counters
    run ip -s link show
    run tc -s qdisc show
    run logs
} >"$out" 2>&1 || exit
echo "wrote $out; look at it before you pass it on"
