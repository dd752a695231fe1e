"""Network namespaces without names: nothing is left in the file system, and one goes with the process that made it."""

import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import ParamSpec, Self, TypeVar

from mptcplab import _core

P = ParamSpec("P")
T = TypeVar("T")


class Namespace:
    """A network namespace and a thread that lives in it.

    It exists while this object is open, or anything in it (a socket, a device, a process) is. Whoever wants to look
    inside while it is there: `nsenter --net=/proc/PID/fd/N`, with `descriptor` as N.
    """

    def __init__(self, name: str) -> None:
        """A new namespace; `name` is that of its thread. Raises OSError without CAP_SYS_ADMIN."""
        self.name = name
        self.descriptor = _core.create_namespace()
        self._thread = ThreadPoolExecutor(
            max_workers=1,
            thread_name_prefix=name,
            initializer=_core.enter_namespace,
            initargs=(self.descriptor,),
        )

    def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What `work` returns in the namespace; sockets and processes that it begins stay there."""
        return self._thread.submit(work, *args, **kwargs).result()

    def set_controls(self, values: Mapping[str, object]) -> None:
        """Write kernel parameters of the namespace, by their paths below /proc/sys such as `net/ipv4/tcp_ecn`.

        Raises OSError, whose `filename` says which, when the kernel has none of that name or refuses the value.
        """
        self.run(_write, values)

    def control(self, name: str) -> str:
        """The value of a kernel parameter in the namespace. Raises OSError when the kernel has none of that name."""
        return self.run(lambda: Path("/proc/sys", name).read_text(encoding="ascii").strip())

    def close(self) -> None:
        """Leave it; the kernel takes it down when nothing is in it any more."""
        self._thread.shutdown()
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _write(values: Mapping[str, object]) -> None:
    for name, value in values.items():
        path = Path("/proc/sys", name)
        try:
            path.write_text(f"{value}\n", encoding="ascii")
        except OSError as error:
            # A refused value shows at the flush, and then no file is named.
            raise OSError(error.errno, f"{error.strerror} (value {value})", str(path)) from None
