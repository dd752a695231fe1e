"""Plug-ins of a run: what the core is given, and what becomes of an exception."""

import ctypes
import json
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from mptcplab.errors import PluginError
from mptcplab.plugins import base, loading
from mptcplab.plugins.loading import KINDS, Source

if TYPE_CHECKING:
    from mptcplab.scenario.algorithms import Named
    from mptcplab.scenario.model import Document

Described = dict[str, Any]
"""A plug-in with its parameters, as JSON has it: all that another process needs."""


@dataclass(frozen=True, slots=True)
class Given:
    """A plug-in as the core reads it (crates/python/src/plugins)."""

    kind: str
    key: str
    name: str
    is_rule: bool
    make: Callable[[int], base.Plugin]
    methods: list[str]
    repairs_as_kernel: bool
    columns: list[str]
    call_limit_s: float


def key(source: Source, parameters: Mapping[str, Any]) -> str:
    """What a description calls a plug-in by: all that tells it from others."""
    told = json.dumps(parameters, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return f"{source.class_name} {source.sha256} {told}"


def described(document: "Document") -> list[Described]:
    """The plug-ins of a scenario, each once."""
    found: dict[tuple[str, str], Described] = {}
    for kind, named in _named(document):
        source = document.plugins[kind, named.name]
        found.setdefault(
            (kind, key(source, named.parameters)),
            {
                "kind": kind,
                "key": key(source, named.parameters),
                "spec": source.spec,
                "class": source.class_name,
                "text": source.text,
                "installed": source.installed,
                "parameters": dict(named.parameters),
            },
        )
    return list(found.values())


def _named(document: "Document") -> "Iterator[tuple[str, Named]]":
    for sender in (*document.connections.values(), *document.traffic.values()):
        for kind in KINDS:
            named: Named = getattr(sender, kind)
            if named.is_plugin:
                yield kind, named


def given(told: Iterable[Described]) -> list[Given]:
    """What the core is given of plug-ins. Raises mptcplab.plugins.PluginLoadError."""
    return [_given(each) for each in told]


def _given(told: Described) -> Given:
    name = told["spec"].rpartition(":")[0] or told["spec"]
    source = Source(told["kind"], told["spec"], told["class"], name, told["text"], told["installed"])
    chosen = source.load()
    return Given(
        kind=source.kind,
        key=told["key"],
        name=f"{KINDS[source.kind].noun} {source.spec}",
        is_rule=issubclass(chosen, base.Rule),
        make=partial(loading.make, chosen, told["parameters"]),
        methods=loading.methods(chosen),
        repairs_as_kernel=loading.repairs_as_kernel(chosen),
        columns=[column.name for column in loading.columns(chosen)],
        call_limit_s=float(chosen.call_limit_s),
    )


def keep(told: Iterable[Described]) -> None:
    """Let a scenario that is read in this process find these plug-ins, without their files."""
    for each in told:
        loading.keep(each["text"])


class Overdue(BaseException):
    """Raised within a call that takes longer than `limit_s`."""

    limit_s = 0.0


def interrupt(thread: int, limit_ms: int) -> None:
    """Raise Overdue in what a thread executes. Called by the core's watchdog."""
    raised = type("Overdue", (Overdue,), {"limit_s": limit_ms / 1000})
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(raised))


def failure(
    name: str,
    method: str,
    now_ns: int,
    connection: str | None,
    initiator: bool,
    number: int,
    text: str | None,
    error: BaseException | None,
) -> PluginError:
    """What is raised for a call that failed: with `error`, or with an answer that makes no sense, as `text` says."""
    where = ""
    if connection is not None:
        which = f", number {number + 1} of these," if number else ""
        where = f" for the connection {connection!r}{which} at its {'client' if initiator else 'server'}"
    if isinstance(error, Overdue):
        text = f"it took longer than {error.limit_s:g} s, its call_limit_s"
    why = text or f"{type(error).__name__}: {error}"
    message = f"the {name}, called at {now_ns / 1e9:.9g} s{where}, failed in {method}: {why}"
    if error is not None:
        frames = traceback.format_tb(error.__traceback__)
        message += "\n" + "".join(frames).rstrip()
    raised = PluginError(message)
    raised.__cause__ = error
    return raised
