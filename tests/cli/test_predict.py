"""`mptcplab predict`: the examples of Chauvenne and Libioulle 2017, chapter 6, and what is refused."""

import json
import shlex
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from mptcplab.models import steady_state
from mptcplab.models.predict import CONTROLS

Call = Callable[..., Any]


def document(call: Call, arguments: str) -> Any:
    done = call("predict", *shlex.split(arguments), "--json")
    assert (done.status, done.err) == (0, "")
    return json.loads(done.out)


def of_paths(answer: Any, name: str) -> list[float]:
    return [path[name] for path in answer["paths"]]


# §6.1.3. The shares of examples 1, 2 and 4, 0.7 and 0.3, are those of LIA when RTT₂/RTT₁ = 7/6 (eq. 6.6: ∝ 1/(p·RTT)).
SEVEN_TENTHS = "-p 0.01,0.02 -r 18,21"


def test_example_1_mean_loss_rate(call: Call) -> None:
    answer = document(call, SEVEN_TENTHS)
    assert of_paths(answer, "share") == pytest.approx([0.7, 0.3])
    assert answer["loss_rate"] == pytest.approx(0.013)
    assert round(answer["packets_per_loss"], 2) == 76.92


def test_example_2_packets_of_each_path(call: Call) -> None:
    """The thesis cuts the first, 53.846, to 53.84, and prints 23.06 for the second, which is 0.3 · 76.92 = 23.08."""
    first, second = of_paths(document(call, SEVEN_TENTHS), "packets_per_loss")
    assert (first, second) == (pytest.approx(0.7 / 0.013), pytest.approx(0.3 / 0.013))
    assert first == pytest.approx(53.84, abs=0.01)
    assert second == pytest.approx(23.08, abs=0.01)


def test_example_3_one_loss_on_path_1_and_two_on_path_2(call: Call) -> None:
    """LIA's losses p·x are in proportion to 1/RTT (eq. 6.6)."""
    assert of_paths(document(call, "-p 0.01,0.02 -r 40,20"), "loss_share") == pytest.approx([1 / 3, 2 / 3])


def test_example_4_ratios_of_losses(call: Call) -> None:
    ratios = of_paths(document(call, SEVEN_TENTHS), "loss_share")
    assert [round(ratio, 2) for ratio in ratios] == [0.54, 0.46]


@pytest.mark.parametrize("loss", ["0.02", "0.05", "0.1"])
def test_the_target_is_close_to_700_packets_a_second(call: Call, loss: str) -> None:
    """§6.2.1: 20 ms, 1 % on the better path, 2 to 10 % on the other: √(2/0.01)/0.02 = 707.1."""
    done = call("predict", "-p", f"0.01,{loss}", "-r", "20,20")
    assert done.status == 0
    assert done.out.startswith("lia over 2 paths: 707.1 packets/s\n")


def test_bits_per_second_with_the_mss(call: Call) -> None:
    done = call("predict", "-p", "0.01,0.02", "-r", "20,20", "-m", 1460)
    assert done.out.startswith(f"lia over 2 paths: {np.sqrt(200) / 0.02 * 1460 * 8:.0f} bit/s\n")
    assert "packets/s" not in done.out


def test_delayed_acks_halve_the_increase(call: Call) -> None:
    one, two = (document(call, f"-p 0.01 -r 20 -b {b}")["throughput_packets_per_s"] for b in (1, 2))
    assert one / two == pytest.approx(np.sqrt(2))


def test_statistics_are_columns(call: Call) -> None:
    plain, more = (call("predict", *shlex.split(SEVEN_TENTHS), *extra).out for extra in ((), ("-s",)))
    for heading in ("share", "window", "of losses", "per loss"):
        assert heading not in plain
        assert heading in more
    rows = [line.split() for line in more.splitlines() if line.split()[:1] in (["1"], ["2"], ["all"])]
    assert rows[0][:3] == ["1", "1", "18"]
    assert rows[0][4:] == ["70.00", "9.90", "53.85", "53.85"]
    assert rows[1][4:] == ["30.00", "4.95", "46.15", "23.08"]
    assert rows[2] == ["all", "1.3", rows[2][2], "100.00", "100.00", "76.92"]
    # Every column of numbers ends where its heading does.
    lines = more.splitlines()
    heading = next(line for line in lines if "throughput" in line)
    for name in ("throughput", "window", "per loss"):
        end = heading.index(name) + len(name)
        assert all(line[:end][-1:].isdigit() for line in lines if line.split()[:1] in (["1"], ["2"]))


@pytest.mark.parametrize("control", CONTROLS)
def test_every_control_answers(call: Call, control: str) -> None:
    answer = document(call, f"-p 0.01,0.04,0.04 -r 20,40,20 -c {control}")
    assert answer["congestion"] == control
    assert sum(of_paths(answer, "share")) == pytest.approx(1)


def test_parameters_of_a_control(call: Call) -> None:
    """Towards k = −1 MPPERT leaves the worse path; at k = 1 it is uncoupled in its split, √2 : 1."""
    shares = [of_paths(document(call, f"-p 0.01,0.02 -r 20,20 -c mppert --set k={k}"), "share")[0] for k in (-0.9, 1)]
    assert shares[0] > 0.99
    assert shares[1] == pytest.approx(np.sqrt(2) / (1 + np.sqrt(2)))
    # On paths that differ the two decreases do too; each is what the library answers for it.
    losses, rtts_s = [0.01, 0.03], [0.02, 0.06]
    shares_of = {
        decrease: of_paths(document(call, f"-p 0.01,0.03 -r 20,60 -c balia --set decrease={decrease}"), "share")
        for decrease in ("half", "algorithm")
    }
    for decrease, found in shares_of.items():
        windows = steady_state.balia(losses, rtts_s, decrease=decrease)  # type: ignore[arg-type]
        rates = windows / np.asarray(rtts_s)
        assert found == pytest.approx(rates / rates.sum())
    assert abs(shares_of["half"][0] - shares_of["algorithm"][0]) > 0.001


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ("-p 0,0.02 -r 20,20", "p[0] = 0 is outside (0, 1): give a fraction, 0.01 for 1 %"),
        ("-p 0.01,1 -r 20,20", "p[1] = 1 is outside (0, 1)"),
        ("-p 0.01,-0.1 -r 20,20", "p[1] = -0.1 is outside (0, 1)"),
        ("-p nan -r 20", "p[0] = nan is outside (0, 1)"),
        ("-p 0.01,0.02 -r 20,0", "-r 20,0: found 0 ms; expected a positive round-trip time"),
        ("-p 0.01,0.02 -r -20,20", "found -20 ms; expected a positive round-trip time"),
        ("-p 0.01,0.02 -r 20,inf", "found inf ms"),
        ("-p 0.01,0.02 -r 20", "2 loss rates but 1 round-trip times: give one of each per path"),
        ("-p 0.01,x -r 20,20", "-p 0.01,x: found 'x'; expected numbers with commas, such as 0.01,0.02"),
        ("-p 0.01, -r 20,20", "found nothing between two commas"),
        ("-p '' -r 20", "found nothing; expected numbers"),
        ("-p 0.01 -r 20 -b 0.5", "b = 0.5: an ACK acknowledges at least 1 segment"),
        ("-p 0.01 -r 20 -m 0", "mss = 0"),
        ("-p 0.01 -r 20 -m many", "--mss: found 'many'; expected a number"),
        ("-p 0.01 -r 20 -c wvegas", "congestion control 'wvegas' has no model; there are: uncoupled"),
        ("-p 0.01 -r 20 --set k=0", "lia has no parameter 'k': it takes no parameters"),
        ("-p 0.01 -r 20 -c mppert --set k=3", "k = 3.0"),
        ("-p 0.01 -r 20 -c mppert --set k=three", "--set k=three: expected a number for k"),
        ("-p 0.01 -r 20 -c balia --set decrease=2", "expected 'half' or 'algorithm' for decrease"),
        ("-p 0.01 -r 20 -c mppert --set k", "--set k: expected NAME=VALUE"),
        ("-p 0.01", "-r"),
        ("-r 20", "-p"),
    ],
)
def test_what_is_wrong_is_said(call: Call, arguments: str, reason: str) -> None:
    done = call("predict", *shlex.split(arguments))
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("error: ")
    assert reason in done.err


def test_a_file_and_the_paths_worth_using(call: Call) -> None:
    """Figure 8 of Dong 2018 with real joins: the slow subflow is ready when all is sent."""
    answer = document(call, '-p 0,0 -r 20,80 --size "50 kB" --rate "100 Mbit/s,100 Mbit/s" --initial-window 1')
    assert answer["selected_paths"] == [0, 1]
    assert answer["transfers"]["all paths"]["segments"] == [36, 0]
    assert answer["transfers"]["tcp"]["receiver_s"] == pytest.approx(0.131, abs=0.001)
    shown = call("predict", "-p", "0,0", "-r", "20,80", "--size", "50 kB")
    assert "what DMPTCP selects" in shown.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ('-p 0,0 -r 20,80 --size "50 kx"', 'no such unit as "kx"'),
        ('-p 0,0 -r 20,80 --size "50 kB" --rate "1 Mbit/s"', "1 rates; expected one of each per path"),
        ('-p 0,0 -r 20,80 --size "50 kB" -c olia', "leave out -c and --set"),
        ("-p 0.1,0.1 -r 20,80 --initial-window 4", "--initial-window 4: can only be used with --size"),
        ('-p 0,1 -r 20,80 --size "50 kB"', "loss_rate"),
    ],
)
def test_what_a_file_does_not_take(call: Call, arguments: str, said: str) -> None:
    done = call("predict", *shlex.split(arguments))
    assert done.status == 2
    assert said in " ".join(done.err.split())
