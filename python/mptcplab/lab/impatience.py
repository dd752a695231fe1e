"""The connections of the server: who takes too long over a request, or holds too many open, is not waited for."""

import asyncio
from typing import Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_S: Final = 20.0
"""From the beginning of a connection, or the end of the answer before, to the end of a request."""
MOST_WAITING: Final = 256
"""Connections whose request is not complete; with one more, the one that has waited longest is closed."""


class Impatient(H11Protocol):
    """HTTP as uvicorn has it, which itself waits for ever for the rest of a request."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Somebody is there, and nothing has been asked."""
        super().connection_made(transport)
        self._look()

    def data_received(self, data: bytes) -> None:
        """A part of a request, or all of it."""
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        """The next request may come."""
        super().on_response_complete()
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody is there any more."""
        self._stop()
        super().connection_lost(exc)

    def _look(self) -> None:
        """Time what is missing of a request; bytes that come meanwhile do not make it longer."""
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY) or self.transport.is_closing():
            self._stop()
        elif self._timer is None:
            self._timer = self.loop.call_later(REQUEST_S, self._end)
            timers = {each: each._timer for each in self.connections if isinstance(each, Impatient)}
            waiting = {each: timer.when() for each, timer in timers.items() if timer is not None}
            if len(waiting) > MOST_WAITING:
                min(waiting, key=waiting.__getitem__)._end()

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _end(self) -> None:
        self._stop()
        self.transport.abort()  # close() would wait until the rest of an answer has been read
