"""`advise --measure` from end to end: two machines, two paths between them, and advice on what the probe found."""

import json
import re
from pathlib import Path
from typing import Any

import mptcplab
import pytest
import tomli_w
from mptcplab import machine
from mptcplab.advice.paths import read_path
from mptcplab.scenario import Scenario

MISSING = [finding for finding in (*machine.live(), machine.kernel_mptcp()) if not finding.good]
TOKEN = "the-token"
MAIN = "from mptcplab.cli.app import main; main()"
# The command as it is, but with less patience: its streams are half as long, its queues drain in less than a second.
HASTY = (
    "from mptcplab.probe import client;"
    "client._PINGS, client._REST_S, client._FLOOD_S, client._STEADY_S, client._TOGETHER_S = 10, 0.3, 1.0, 1.0, 1.0;"
    f"{MAIN}"
)
LINKS: dict[str, Any] = {
    "near": {"rate": "2 Mbit/s", "delay": "5 ms", "queue": "60 ms"},
    "far": {"rate": "1 Mbit/s", "delay": "40 ms", "queue": "60 ms"},
}


@pytest.mark.skipif(bool(MISSING), reason=f"no live system here: {MISSING}")
def test_paths_are_measured_and_advised_on(tmp_path: Path) -> None:
    """A call has its first path where it waits 10 ms, not 80; the links are found as they are."""
    client = ["{python}", "-c", HASTY, "advise", "--measure", "{server}", "--token", TOKEN]
    client += ["--path", "near: 10.0.0.1", "--path", "far: 10.0.1.1"]
    client += ["--traffic", "calls", "--for", "linux", "--budget", "0.02", "--json"]
    server = ["{python}", "-c", MAIN, "probe", "--server", "--host", "{server}", "--token", TOKEN, "--minutes", "2"]
    application = {"kind": "program", "client": client, "server": server, "mptcpize": False}
    table = {"paths": list(LINKS), "scheduler": "linux", "congestion": "cubic", "application": application}
    document = {"duration": "48 s", "link": LINKS, "connection": {"a": table}, "measure": {"sample": "never"}}
    mptcplab.run(Scenario.from_toml(tomli_w.dumps(document), "advise.toml"), "linux").save(tmp_path / "out")

    said = (tmp_path / "out/programs/a-client.stderr").read_text(encoding="utf-8")
    found = {each.name: each for each in map(read_path, re.findall(r'--path "(.*?)"', said.replace("\n", " ")))}
    assert set(found) == set(LINKS)
    for name, rate_bps, rtt_s in (("near", 2e6, 0.010), ("far", 1e6, 0.080)):
        assert found[name].down_bps == pytest.approx(rate_bps, rel=0.1)
        assert found[name].up_bps == pytest.approx(rate_bps, rel=0.1)
        assert rtt_s <= found[name].rtt_s.low < rtt_s + 0.01

    answer = json.loads((tmp_path / "out/programs/a-client.stdout").read_text(encoding="utf-8"))
    best = answer["recommended"][0]
    assert best["settings"]["connection.call.paths"][0] == "near"
    # A round trip of 10 ms, and the two messages of 30 % of the rate: 750 bytes and 52 of headers at 2 Mbit/s each way.
    assert 0.010 < best["expected"]["value"] < 0.030
    assert answer["best_single_path"]["settings"]["connection.call.paths"] == ["near"]
