"""The lines for NetworkManager, systemd-networkd and UCI, by the programs that read them, where these are installed."""

import configparser
import importlib
import re
import subprocess
from pathlib import Path

import pytest
from mptcplab.advice.candidates import Candidate
from mptcplab.advice.commands import FORMS, commands

from tests.needs import needs

PATHS = ("fibre", "lte-2", "sat")
SETTINGS = {
    "members": Candidate("cubic", "linux", ("fibre", "lte-2"), (), True),
    "backup": Candidate("bbr", "linux", ("lte-2",), ("fibre", "sat"), True),
    "mixed": Candidate("lia", "linux", ("fibre", "lte-2"), ("sat",), True, 2**24),
    "tcp": Candidate("reno", "", ("sat",), (), True),
}


def lines(name: str, form: str) -> list[str]:
    return list(commands(SETTINGS[name], PATHS)[form])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", SETTINGS)
def test_a_shell_reads_the_lines(name: str, form: str) -> None:
    done = subprocess.run(["sh", "-n"], input="\n".join(lines(name, form)), text=True, check=False, capture_output=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("form", FORMS)
def test_every_form_says_the_control_the_use_of_each_path_and_the_way_back(form: str) -> None:
    text = "\n".join(lines("mixed", form))
    assert "mptcplab bpf load lia" in text
    assert re.search(r"congestion(_control)? ?= ?.?lia", text)
    assert "backup" in text
    assert "the way back" in text
    assert "check" in text
    assert "4096 131072 27262976" in text


def test_the_receive_buffer_holds_the_window() -> None:
    """A segment of 1,460 bytes takes 2,304 of memory: 16 MiB of data take 25.3 MiB, so 26."""
    assert 'sysctl -w net.ipv4.tcp_rmem="4096 131072 27262976"' in lines("mixed", "ip")
    assert 'sysctl -w net.ipv4.tcp_wmem="4096 16384 27262976"' in lines("mixed", "ip")


@pytest.mark.parametrize("form", ["ip", "networkmanager", "networkd"])
def test_the_host_with_the_paths_may_send_with_a_control_of_its_own(form: str) -> None:
    """Who sends has the control: BBR on the server for downloads, CUBIC on the client for uploads."""
    members = Candidate("bbr", "linux", ("fibre", "sat"), (), True)
    text = "\n".join(commands(members, PATHS, upload="cubic")[form])
    controls = re.findall(r"tcp_congestion_control ?= ?(\w+)", text.partition("# the way back")[0])
    assert sorted(set(controls)) == ["bbr", "cubic"]
    here = text[text.index("on the host with the paths") :]
    assert "tcp_congestion_control=cubic" in here or "tcp_congestion_control = cubic" in here
    assert commands(members, PATHS, upload="bbr") == commands(members, PATHS)


def test_a_router_is_the_host_with_the_paths() -> None:
    text = "\n".join(commands(Candidate("bbr", "linux", ("fibre", "sat"), (), True), PATHS, upload="cubic")["uci"])
    assert "network.globals.congestion=cubic" in text
    assert "bbr" not in text


@pytest.mark.parametrize("form", FORMS)
def test_lines_for_ipv6_have_no_ipv4(form: str) -> None:
    text = "\n".join(commands(SETTINGS["mixed"], PATHS, ipv6=True)[form])
    assert "net/ipv4/conf" not in text
    assert not re.search(r"ip route|network_get_ipaddr ", text)
    assert ("ip -6 route replace default via GATEWAY_OF_FIBRE" in text) == (form == "ip")


@pytest.mark.parametrize("form", FORMS)
def test_the_way_back_restores_every_sysctl_that_was_set(form: str) -> None:
    """What is saved before the first change, by name, is read again after the last."""
    there, _, back = "\n".join(commands(SETTINGS["mixed"], PATHS)[form]).partition("# the way back")
    kept = {file: names.split() for names, file in re.findall(r"^sysctl ([\w./ ]+) > (\S+)$", there, re.MULTILINE)}
    keys = set(re.findall(r"(net[./][\w./]+) ?=", there))
    assert keys == {key for names in kept.values() for key in names}
    assert "net.ipv4.tcp_rmem" in keys
    assert sum("rp_filter" in key for key in keys) == (0 if form == "uci" else len(SETTINGS["mixed"].used) - 1)
    for file, names in kept.items():
        assert f"sysctl -p {file}" in back
        assert there.index(f"> {file}") < min(
            there.index(f"{key}{sign}") for key in names for sign in ("=", " =") if f"{key}{sign}" in there
        )


def test_a_free_choice_has_no_commands() -> None:
    assert set(commands(Candidate("lia", "blest", ("fibre", "sat")), PATHS).values()) == {()}


@needs("nmcli")
@pytest.mark.parametrize("name", SETTINGS)
def test_networkmanager_takes_its_lines(name: str) -> None:
    """Offline, on a connection as it makes them; 32 is subflow, 64 backup, 1 disabled (nm-settings(5))."""
    kinds = {"disabled": 1, "subflow": 32, "subflow,backup": 96}
    new = ["nmcli", "--offline", "connection", "add", "type", "ethernet", "con-name", "c", "ifname", "eth0"]
    made = subprocess.run(new, check=True, capture_output=True, text=True).stdout
    found = [line.split() for line in lines(name, "networkmanager") if line.startswith("nmcli connection modify")]
    assert len(found) == 2 * len(PATHS)
    for words in found:
        done = subprocess.run(
            ["nmcli", "--offline", "connection", "modify", *words[4:]],
            input=made,
            capture_output=True,
            text=True,
            check=True,
        )
        keyfile = configparser.ConfigParser()
        keyfile.read_string(done.stdout)
        flags = words[words.index("connection.mptcp-flags") + 1]
        metric = words[words.index("ipv4.route-metric") + 1]
        assert keyfile["connection"].get("mptcp-flags") == (None if flags == "default" else str(kinds[flags]))
        assert keyfile["ipv4"].get("route-metric") == (None if metric == "-1" else metric)


@needs("systemd-analyze")
@pytest.mark.parametrize("form", ["networkmanager", "networkd"])
def test_systemd_takes_the_unit(form: str, tmp_path: Path) -> None:
    """As the printed line writes it."""
    unit = tmp_path / "mptcp-setup.service"
    line = next(line for line in lines("backup", form) if "mptcp-setup.service" in line and line.startswith("printf"))
    subprocess.run(["sh", "-c", line.replace("/etc/systemd/system", str(tmp_path))], check=True, timeout=30)
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(unit)], capture_output=True, text=True, check=False, timeout=60
    )
    said = [each for each in done.stderr.splitlines() if "mptcp-setup" in each]
    assert said == []
    starts = [each for each in unit.read_text().splitlines() if each.startswith("ExecStart=")]
    assert any("ip mptcp limits set subflows 2" in each for each in starts)
    assert any("endpoint add" in each for each in starts) == (form == "networkd")


@pytest.mark.parametrize("name", SETTINGS)
def test_openwrts_schema_takes_the_interfaces(name: str) -> None:
    """What `uci set` leaves in /etc/config/network, read and checked by netjsonconfig."""
    reader = importlib.import_module("netjsonconfig")
    options: dict[str, dict[str, str]] = {}
    for line in lines(name, "uci"):
        if line.startswith("uci set "):
            place, value = line.removeprefix("uci set ").split("=")
            _, section, option = place.split(".")
            options.setdefault(section, {})[option] = value
    text = "package network\n\n"
    for number, (section, values) in enumerate(sorted(options.items())):
        kind = "globals" if section == "globals" else "interface"
        text += f"config {kind} '{section}'\n"
        text += "" if kind == "globals" else f"\toption device 'eth{number}'\n\toption proto 'dhcp'\n"
        text += "".join(f"\toption {key} '{value}'\n" for key, value in values.items()) + "\n"
    read = reader.OpenWrt(native=text)
    read.validate()
    rendered = read.render()
    for section, values in options.items():
        for key, value in values.items():
            assert f"option {key} '{value}'" in rendered, section
    modes = {section: values.get("multipath") for section, values in options.items() if section != "globals"}
    assert list(modes.values()).count("master") == 1
