"""Applications that ask and answer, on real packets: bounds that hold on a busy machine too."""

import mptcplab
import pytest
from mptcplab import machine
from mptcplab.scenario import Scenario

MISSING = [finding for finding in machine.live() if not finding.good]
pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(bool(MISSING), reason="no live system here"),
]

HOME = """
duration = "4 s"
link.a = { rate = "50 Mbit/s", delay = "20 ms" }
link.b = { rate = "50 Mbit/s", delay = "30 ms" }
[connection.page]
paths = ["a", "b"]
congestion = "reno"
application = { kind = "web", pages = 2, think = "0 s", objects = [{ size = "5 kB" }, { size = "20 kB", count = 10 }] }
[connection.ping]
paths = ["a"]
protocol = "tcp"
application = { kind = "ping", interval = "0.2 s" }
[connection.film]
paths = ["b"]
protocol = "tcp"
application = { kind = "video", ladder = ["1 Mbit/s"], segment = "1 s", length = "5 s" }
[connection.files]
paths = ["a", "b"]
congestion = "reno"
application = { kind = "ftp", size = "100 kB", files = 2 }
"""


@pytest.mark.parametrize("engine", ["stack", "linux"])
def test_all_run_on_real_packets(engine: str) -> None:
    if engine == "linux" and not machine.kernel_mptcp().good:
        pytest.skip("no Multipath TCP in this kernel")
    result = mptcplab.run(Scenario.from_toml(HOME), engine=engine)
    page, ping, film, files = result.connections.to_dicts()
    assert (page["transfers_begun"], page["transfers_complete"]) == (2, 2)
    assert page["transfer_sizes_bytes"] == [205_000] * 2
    # Connection, document, a connection or an object, an object: no less than four round trips of 40 ms, unless an idle
    # connection is quicker; three are certain.
    assert min(page["transfer_times_s"]) > 0.12
    assert ping["transfers_complete"] >= 10
    assert min(ping["transfer_times_s"]) >= 0.04
    assert (film["transfers_complete"], film["video_stalls"]) == (5, 0)
    assert film["video_startup_s"] > 0.12
    assert sum(film["transfer_sizes_bytes"]) == film["bytes_delivered"] == 625_000
    assert files["transfers_complete"] == 2
    assert min(files["transfer_times_s"]) > 0.12
    assert files["transfer_starts_s"][0] > 4.5 * 0.04
