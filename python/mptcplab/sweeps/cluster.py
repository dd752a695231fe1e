"""Runs on a Dask cluster: batches of tasks go to its workers, answers come back as they are done.

A worker that disappears is Dask's to notice: its batches go to others. Every worker must have the same version of what
computes, or its answers would not be those of this sweep: a batch is refused by a worker that has not.
"""

import asyncio
import concurrent.futures
import logging
import socket
from collections.abc import Iterable, Iterator
from typing import Any, Final
from urllib.parse import urlsplit

from distributed import Client, as_completed

from mptcplab.errors import Error
from mptcplab.sweeps.planned import Planned, code_version
from mptcplab.sweeps.pool import Answer, WorkerError
from mptcplab.sweeps.worker import execute

_CONNECT_S: Final = 10
_MOST_PER_BATCH: Final = 32
_BATCHES_PER_THREAD: Final = 16
"""Small batches at the end keep every worker busy, large ones cost the scheduler less."""


class ClusterError(WorkerError):
    """The cluster cannot be used."""


class VersionsDifferError(Error, RuntimeError):
    """A worker has another version of mptcplab."""


def execute_batch(tasks: list[str], engine: str, version: str) -> list[bytes]:
    """Carry tasks out on a worker. Raises VersionsDifferError."""
    own = code_version(engine)
    if own != version:
        raise VersionsDifferError(f"the worker on {socket.gethostname()} has mptcplab {own}, the sweep has {version}")
    return [execute(task) for task in tasks]


class Cluster:
    """The workers of a Dask scheduler."""

    def __init__(self, address: str, engine: str) -> None:
        """Connect. Raises ClusterError."""
        self._engine = engine
        # Dask logs a traceback for each connection that it loses; what matters becomes an error here.
        for name in ("distributed", "distributed.client"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        if not urlsplit(address).scheme:
            address = f"tcp://{address}"
        try:
            self._client = Client(address, timeout=_CONNECT_S)
        except (OSError, ValueError) as error:
            raise ClusterError(
                f"no Dask scheduler answers at {address} ({error}); start one with `dask scheduler`"
            ) from None

    def answers(self, runs: Iterable[Planned]) -> Iterator[Answer]:
        """Carry all runs out; answers as they come. Raises ClusterError."""
        waiting = list(runs)
        nthreads: Any = self._client.nthreads()  # in an asynchronous client it would be awaitable: its types say both
        threads = max(1, sum(nthreads.values()))
        size = max(1, min(_MOST_PER_BATCH, len(waiting) // (_BATCHES_PER_THREAD * threads)))
        batches = [waiting[first : first + size] for first in range(0, len(waiting), size)]
        version = code_version(self._engine)
        futures = {
            self._client.submit(
                execute_batch, [run.task for run in batch], self._engine, version, key=f"mptcplab-{batch[0].name}"
            ): batch
            for batch in batches
        }
        try:
            for future in as_completed(futures):
                yield from zip(futures[future], _result(future), strict=True)
                future.release()
        finally:
            for future in futures:
                future.cancel()
            self._client.close()


def _result(future: Any) -> list[bytes]:  # noqa: ANN401 - of Dask, without types
    """The answers of a batch. Raises ClusterError."""
    try:
        answers: list[bytes] = future.result()
    except (asyncio.CancelledError, concurrent.futures.CancelledError):
        raise ClusterError("the Dask scheduler has gone") from None
    except Exception as error:
        raise ClusterError(f"{type(error).__name__}: {error}") from None
    return answers
