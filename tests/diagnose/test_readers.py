"""Each kind of output as tools print it, old and new, alone and between other text."""

from pathlib import Path

import pytest
from mptcplab.diagnose.connections import connections
from mptcplab.diagnose.facts import Host, Reading
from mptcplab.diagnose.reading import InputError, read, read_text
from mptcplab.diagnose.rules.sending import data_level

# ss of iproute2 6.1 prints hexadecimal digits, 6.9 and later decimal ones.
OLD = """\
Netid State Recv-Q Send-Q  Local Address:Port  Peer Address:PortProcess
tcp   ESTAB 0      0      10.0.1.1%path1:24701   10.0.255.1:5001 users:(("python",pid=21995,fd=3)) ino:38002 sk:5
\t skmem:(r0,rb6291456,t0,tb46080,f256,w0,o0,bl0,d0) ts sack reno wscale:7,7 rto:224 rtt:20.261/10.13 mss:1448 cwnd:10 \
bytes_acked:1 bytes_received:3666768 send 5717388bps pacing_rate 11434776bps app_limited minrtt:20.261 \
tcp-ulp-mptcp flags:Jjecv token:f727042(id:0)/df9984e4(id:1) seq:42a7e2cac4c1dac0 sfseq:37c6d1
mptcp ESTAB 18432  0            10.0.0.1:54046   10.0.255.1:5001 ino:38002 sk:7
\t skmem:(r18432,rb6291456,t0,tb96256,f3264,w0,o0,bl0,d0) subflows:1 subflows_max:2 remote_key token:df9984e4 \
write_seq:c3a8bb314dc2b6f5 snd_una:c3a8bb314dc2b6f0 rcv_nxt:42a7e2cac4c20cd0
"""
NEW = """\
State Recv-Q Send-Q          Local Address:Port   Peer Address:Port
ESTAB 0      0      [2001:db8::1]%eth0:40000 [2001:db8::2]:443 uid:1000 ino:7 sk:1 cgroup:/ <-> \
ts sack cubic wscale:7,7 rto:204 rtt:1.5/0.75 mss:1428 cwnd:10 bytes_sent:9 bytes_acked:10 delivery_rate 1000000bps \
rcv_wnd:65536 shiny_new:3 tcp-ulp-mptcp flags:Mmec token:0000(id:0)/1a2b3c4d(id:0) seq:12 sfseq:1
ESTAB 0      0      [2001:db8::1]:40000 [2001:db8::2]:443 subflows:1 fallback token:1a2b3c4d \
write_seq:16862058113524229893 snd_una:16862058113524229793 subflows_total:2 last_data_sent:5
"""


def of(text: str) -> tuple[Host, Reading]:
    reading = Reading([])
    (host,) = read_text(text.encode(), "paste", reading)
    return host, reading


def test_ss_old_form() -> None:
    host, reading = of(OLD)
    subflow, master = host.sockets
    assert (reading.unread_count, reading.unknown_fields) == (0, {})
    assert (subflow.kind, subflow.state, str(subflow.local), subflow.local.device) == (
        "tcp",
        "ESTAB",
        "10.0.1.1:24701",
        "path1",
    )
    assert (subflow.number("rtt"), subflow.number("cwnd"), subflow.congestion) == (20.261, 10, "reno")
    assert (subflow.memory("rb"), subflow.memory("tb"), subflow.memory("r")) == (6291456, 46080, 0)
    assert (subflow.mptcp_flags, subflow.tokens) == ("Jjecv", ("f727042", "df9984e4"))
    assert (master.kind, master.recv_q, data_level(master)) == ("mptcp", 18432, 5)


def test_ss_new_form_on_one_line() -> None:
    host, reading = of(NEW)
    subflow, master = host.sockets
    assert reading.unread_count == 0
    assert reading.unknown_fields == {"shiny_new": 1}
    assert (subflow.kind, subflow.local.address, subflow.local.device) == ("tcp", "2001:db8::1", "eth0")
    assert str(subflow.remote) == "[2001:db8::2]:443"
    assert (master.kind, data_level(master)) == ("mptcp", 100)
    (connection,) = connections([host])
    assert (connection.protocol, connection.views[0].fallback) == ("mptcp", True)
    assert [flow.opened_here for flow in connection.views[0].flows] == [True]


def test_a_port_is_a_number_or_a_name() -> None:
    _, reading = of("ESTAB 0 0 10.0.0.1:182\x0e 10.0.0.2:2\nadd_addr_accepted 0 subflows 2\n")
    assert reading.unread_count == 1


def test_one_column_less_and_only_mptcp() -> None:
    """`ss -ManiH`, which mptcpd's own script of this kind asks for."""
    host, _ = of("# ss -ManiH\nESTAB 0 0 10.0.0.1:1 10.0.0.2:2 token:ab12 remote_key\n")
    assert [each.kind for each in host.sockets] == ["mptcp"]


def test_nstat_before_and_after() -> None:
    text = "#kernel\nMPTcpExtMPJoinSynTx 5 0.0\nMPTcpExtRmAddr 0 0.0\n#kernel\nMPTcpExtMPJoinSynTx 7 0.0\n"
    host, reading = of(text)
    assert reading.unread_count == 0
    times, line, between = host.counted("MPJoinSynTx")
    assert (times, between) == (2, True)
    assert line is not None
    assert line.where == "paste:5"
    assert host.counted("DataCsumErr")[0] == 0  # the outputs have counters that are 0, and not this one


def test_counters_that_were_not_asked_for_are_not_known() -> None:
    host, _ = of("$ nstat -az | grep Join\nMPTcpExtMPJoinSynTx 5 0.0\n")
    assert host.counted("MPJoinSynTx")[0] == 5
    assert host.counted("MPCapableSYNTX")[0] == -1


def test_proc_net_netstat() -> None:
    host, reading = of("MPTcpExt: MPCapableSYNRX MPCapableSYNTX\nMPTcpExt: 3 4\n")
    assert reading.unread_count == 0
    assert (host.counted("MPCapableSYNRX")[0], host.counted("MPCapableSYNTX")[0]) == (3, 4)


def test_endpoints_and_limits() -> None:
    host, reading = of(
        "root@router:~# ip mptcp endpoint show\n"
        "10.0.1.1 id 1 subflow backup dev eth1 \n"
        "2001:db8::1 port 5 id 2 signal\n"
        "root@router:~# ip mptcp limits\nadd_addr_accepted 0 subflows 2 \n"
    )
    assert reading.unread_count == 0
    assert host.name == "router"
    first, second = host.endpoints
    assert (first.address, first.number, first.flags, first.device) == ("10.0.1.1", 1, {"subflow", "backup"}, "eth1")
    assert (second.address, second.port, second.flags) == ("2001:db8::1", "5", {"signal"})
    assert (host.limits[0].subflows, host.limits[0].add_addr_accepted) == (2, 0)


TEXT_OF_IP = """\
# ip mptcp endpoint
10.0.1.1 id 1 subflow backup dev eth1
10.0.2.1 id 2 signal port 5001
# ip mptcp limits
add_addr_accepted 0 subflows 2
# ip rule
0: from all lookup local
32765: from 10.0.1.0/24 lookup 7
# ip route show table all
default via 10.0.1.9 dev eth1 table 7 metric 100
10.0.1.0/24 dev eth1 scope link src 10.0.1.1
unreachable default table 8 metric 4278198272
# ip -s link
2: eth1: <BROADCAST,UP> mtu 1492 state UP
    RX:  bytes packets errors dropped
    10 2 0 1
    TX:  bytes packets errors dropped
    20 3 0 0
# nstat
#kernel
MPTcpExtMPJoinSynTx 5 0.0
"""
JSON_OF_IP = """\
# ip -j mptcp endpoint
[{"address":"10.0.1.1","id":1,"subflow":true,"backup":true,"dev":"eth1"},{"address":"10.0.2.1","id":2,"signal":true,\
"port":5001}]
# ip -j mptcp limits
{"add_addr_accepted":0,"subflows":2}
# ip -j rule
[{"priority":0,"src":"all","table":"local"},{"priority":32765,"src":"10.0.1.0","srclen":24,"table":"7"}]
# ip -j -p route show table all
[ {
        "dst": "default",
        "gateway": "10.0.1.9",
        "dev": "eth1",
        "table": "7",
        "metric": 100,
        "flags": [ ]
    },{
        "dst": "10.0.1.0/24",
        "dev": "eth1",
        "scope": "link",
        "prefsrc": "10.0.1.1",
        "flags": [ ]
    },{
        "type": "unreachable",
        "dst": "default",
        "table": "8",
        "metric": 4278198272,
        "flags": [ ]
    } ]
# ip -j -s link
[{"ifindex":2,"ifname":"eth1","flags":["BROADCAST","UP"],"mtu":1492,"operstate":"UP","stats64":{"rx":{"bytes":10,\
"packets":2,"errors":0,"dropped":1},"tx":{"bytes":20,"packets":3,"errors":0,"dropped":0}}}]
# nstat -j
{"kernel":{"MPTcpExtMPJoinSynTx":5}}
"""


def test_what_ip_prints_as_json_says_the_same() -> None:
    (plain, _), (document, reading) = of(TEXT_OF_IP), of(JSON_OF_IP)
    assert (reading.unread_count, reading.unknown_fields) == (0, {})
    said = [
        (
            [(each.address, each.number, each.flags, each.device, each.port) for each in host.endpoints],
            [(each.subflows, each.add_addr_accepted) for each in host.limits],
            [(each.priority, each.source, each.table, each.simple) for each in host.rules],
            [(each.kind, each.network, each.device, each.table, each.metric, each.source) for each in host.routes],
            [(each.name, each.up, each.mtu, each.counts) for each in host.devices],
            host.counted("MPJoinSynTx")[0],
        )
        for host in (plain, document)
    ]
    assert said[0] == said[1]
    assert len(said[0][3]) == 3


def test_json_that_is_no_answer_of_ip_is_shown() -> None:
    host, reading = of('# ip -j mptcp endpoint\n[]\n{"colour":"red"}\n[{"address":\n10.0.0.1 id 1 subflow\n[\n')
    assert [each.number for each in reading.unread] == [3, 4, 6]
    assert [each.address for each in host.endpoints] == ["10.0.0.1"]
    _, reading = of("[" * 100_000 + "\n" + "]" * 100_000 + "\n" + "10.0.0.1 id 1 subflow\n")
    assert reading.unread_count == 2


def test_monitor() -> None:
    host, reading = of(
        "[       SF_CLOSED] token=ff00 remid=0 locid=1 saddr4=1.1.1.1 daddr4=2.2.2.2 sport=1 backup=0 "
        "error=104 reset_reason=2 reset_flags=0x0\n"
        "[         CREATED] token=0a remid=0 locid=0 server_side deny_join_id0\n"
    )
    assert (reading.unread_count, reading.unknown_fields) == (0, {})
    assert [event.kind for event in host.events] == ["SF_CLOSED", "CREATED"]
    assert host.events[0].fields["reset_reason"] == "2"
    assert "deny_join_id0" in host.events[1].words


def test_routes_and_rules() -> None:
    host, reading = of(
        "default via 192.168.1.1 dev eth0 proto dhcp src 192.168.1.7 metric 100\n"
        "10.0.0.0/8 dev tun0 table 7 scope link\nunreachable default table 8 metric 4278198272\n"
        "local 192.168.1.7 dev eth0 table local proto kernel scope host src 192.168.1.7\n"
        "default via fe80::1 dev eth0 metric 1024 pref medium\n"
        "0:\tfrom all lookup local\n32000:\tfrom 10.0.0.1 lookup 7\n100:\tfrom all fwmark 0x1 lookup 9\n"
    )
    assert (reading.unread_count, reading.unknown_fields) == (0, {})
    assert [(each.network, each.device, each.table) for each in host.routes] == [
        ("0.0.0.0/0", "eth0", "main"),
        ("10.0.0.0/8", "tun0", "7"),
        ("0.0.0.0/0", "", "8"),
        ("192.168.1.7/32", "eth0", "local"),
        ("::/0", "eth0", "main"),
    ]
    assert [(each.priority, each.source, each.table, each.simple) for each in host.rules] == [
        (0, "all", "local", True),
        (32000, "10.0.0.1/32", "7", True),
        (100, "all", "9", False),
    ]


def test_devices_and_queues() -> None:
    host, reading = of(
        "2: eth0@if3: <BROADCAST,UP,LOWER_UP> mtu 1400 qdisc fq_codel state UP mode DEFAULT group default qlen 1000\n"
        "    link/ether 02:fc:00:00:00:01 brd ff:ff:ff:ff:ff:ff\n"
        "    RX:  bytes packets errors dropped  missed   mcast\n"
        "         9      8       7       6       0       0 \n    TX:  bytes packets errors dropped carrier collsns\n"
        "       5    4      3       2       0       0\n"
        "qdisc fq_codel 0: dev eth0 root refcnt 2 limit 10240p\n"
        " Sent 1 bytes 2 pkt (dropped 12, overlimits 0 requeues 0)\n"
        " backlog 0b 0p requeues 0\n"
    )
    assert reading.unread_count == 0
    (device,) = host.devices
    assert (device.name, device.up, device.mtu) == ("eth0", True, 1400)
    assert device.counts == {
        "rx_bytes": 9,
        "rx_packets": 8,
        "rx_errors": 7,
        "rx_dropped": 6,
        "tx_bytes": 5,
        "tx_packets": 4,
        "tx_errors": 3,
        "tx_dropped": 2,
        "qdisc_dropped": 12,
    }


def test_parameters_and_processes() -> None:
    host, reading = of("net.ipv4.tcp_rmem = 4096\t131072\t6291456\nnet.mptcp.enabled=1\npid 12 ran 5 waited 6\n")
    assert reading.unread_count == 0
    assert host.sysctls["net.ipv4.tcp_rmem"].value == "4096 131072 6291456"
    assert host.cpu[12][0].waited_ns == 6


def test_logs_of_a_router_and_of_mptcpd() -> None:
    host, reading = of(
        "Fri Feb 22 12:00:37 2019 user.notice post-tracking-post-tracking: wlan0 switched off because ping from "
        "192.168.1.222 error (80.67.169.40,4.2.2.1)\n"
        "Fri Feb 22 12:00:39 2019 user.notice post-tracking-post-tracking: wan2 (eth2) switched off because error\n"
        "Fri Apr  9 12:40:15 2021 daemon.notice netifd: Network device 'eth2' link is up\n"
        "Feb 22 12:00:37 host mptcpd[812]: MPTCP is not enabled in the kernel.\nmptcpd: started\n"
    )
    assert reading.unread_count == 0
    assert [(entry.program, entry.kind, entry.device) for entry in host.logs] == [
        ("post-tracking-post-tracking", "path-down", ""),
        ("post-tracking-post-tracking", "path-down", "eth2"),
        ("netifd", "path-up", "eth2"),
        ("mptcpd", "mptcp-off", ""),
        ("mptcpd", "other", ""),
    ]


def test_marks_of_quotation_and_time_stamps_are_not_in_the_way() -> None:
    host, reading = of(
        "> 10.0.1.1 id 1 subflow\n[2024-05-01T12:00:00.5] add_addr_accepted 0 subflows 2\n"
        "12:00:07 MPTcpExtMPJoinSynTx 3 0.0\n\x1b[1;32mMPTcpExtRmAddr 1 0.0\x1b[0m\n"
    )
    assert reading.unread_count == 0
    assert (len(host.endpoints), len(host.limits), host.counted("MPJoinSynTx")[0], host.counted("RmAddr")[0]) == (
        1,
        1,
        3,
        1,
    )


def test_prompts_tell_hosts_apart() -> None:
    reading = Reading([])
    hosts = read_text(
        b"a@client:~$ sudo ip mptcp limits\nadd_addr_accepted 0 subflows 1\nroot@server:/# ip mptcp limits\n"
        b"add_addr_accepted 0 subflows 3\n",
        "p",
        reading,
    )
    assert {host.name: host.limits[0].subflows for host in hosts} == {"client": 1, "server": 3}


def test_titles_of_mptcpds_own_script() -> None:
    ruler = "=" * 40
    host, reading = of(
        f"\n{ruler}\nip mptcp endpoint show\n{ruler}\n{ruler}\nsysctl net.mptcp\n{ruler}\nnet.mptcp.enabled = 0\n"
    )
    assert reading.unread_count == 0
    assert "ip mptcp endpoint" in host.asked
    assert host.endpoints == []


def test_what_is_not_understood_is_kept_and_counted() -> None:
    _, reading = of("add_addr_accepted 0 subflows 2\nhello there\nadd_addr_accepted x subflows 2\n")
    assert reading.unread_count == 2
    assert [line.text for line in reading.unread] == ["hello there", "add_addr_accepted x subflows 2"]


def test_nothing_to_read_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "empty.txt"
    file.write_text("nothing of interest\n")
    with pytest.raises(InputError, match="nothing to diagnose in 1 lines"):
        read([str(file)])
    with pytest.raises(InputError, match="no such file"):
        read([str(tmp_path / "missing")])


def test_files_of_one_host_are_brought_together(tmp_path: Path) -> None:
    (tmp_path / "ss.txt").write_text(OLD)
    (tmp_path / "nstat.txt").write_text("MPTcpExtMPJoinSynTx 1 0.0\n")
    (tmp_path / "limits.txt").write_text("add_addr_accepted 0 subflows 2\n")
    reading = read([str(tmp_path)])
    assert [(host.name, len(host.sockets), len(host.limits)) for host in reading.hosts] == [("this host", 2, 1)]
