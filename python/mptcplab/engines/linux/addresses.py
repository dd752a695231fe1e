"""Events of clients' addresses: the kernel's path manager hears of them at their time, as of a network manager."""

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from mptcplab.engines.linux import kernel
from mptcplab.engines.linux.layout import Endpoint, Pair
from mptcplab.engines.live import Namespace


@dataclass(frozen=True)
class _Due:
    at_ns: int
    host: Namespace
    endpoint: Endpoint
    change: Mapping[str, Any]


class Addresses:
    """What happens to addresses during a run; the links hear of it from the emulator."""

    def __init__(self, description: Mapping[str, Any], clients: list[Namespace]) -> None:
        """`clients` are the hosts of the connections, in their order."""
        self.lateness_ns: list[int] = []
        """How late each event was."""
        due: list[tuple[int, int, _Due]] = []
        self._backup: dict[tuple[str, int], bool] = {}
        self._stop = threading.Event()
        self._error: OSError | None = None
        for kind, host in enumerate(clients):
            pair = Pair(kind, description["connections"][kind])
            if not pair.manages_addresses:
                continue
            for endpoint in pair.endpoints(description["links"], description["paths"]):
                self._backup[host.name, endpoint.number] = endpoint.backup
                due += [
                    (event["at_ns"], place, _Due(event["at_ns"], host, endpoint, event["set"]))
                    for place, event in enumerate(description["events"])
                    if event["link"] == endpoint.link and not event["set"].keys().isdisjoint(("address", "backup"))
                ]
        # Those of one moment in the order of the scenario, as on the engine sim.
        self._due = [each for _, _, each in sorted(due, key=lambda each: each[:2])]
        self._thread = threading.Thread(target=self._play, name="addresses", daemon=True)

    def begin(self, zero_ns: int) -> None:
        """Play from this reading of CLOCK_MONOTONIC on."""
        self._zero_ns = zero_ns
        if self._due:
            self._thread.start()

    def finish(self) -> None:
        """The run is over. Raises what went wrong on the way."""
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join()
        if self._error is not None:
            raise self._error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _play(self) -> None:
        for due in self._due:
            at_ns = self._zero_ns + due.at_ns
            if self._stop.wait(max(0.0, (at_ns - time.monotonic_ns()) / 1e9)):
                return
            try:
                self._apply(due)
            except OSError as error:
                self._error = OSError(
                    error.errno, f"{due.host.name}: the kernel's path manager refuses {dict(due.change)}: {error}"
                )
                return
            self.lateness_ns.append(time.monotonic_ns() - at_ns)

    def _apply(self, due: _Due) -> None:
        key = due.host.name, due.endpoint.number
        if "backup" in due.change:
            self._backup[key] = due.change["backup"]
            kernel.set_backup(due.host, due.endpoint, backup=due.change["backup"])
        if due.change.get("address") is False:
            kernel.withdraw(due.host, due.endpoint)
        elif due.change.get("address") is True:
            kernel.restore(due.host, due.endpoint, backup=self._backup[key])
