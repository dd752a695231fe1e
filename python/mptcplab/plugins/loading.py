"""From what a scenario names to a class: files, entry points, and checks of parameters."""

import inspect
import linecache
import re
import sys
import traceback
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any, Final

from mptcplab import files
from mptcplab.errors import PluginLoadError
from mptcplab.plugins import base
from mptcplab.results.columns import SAMPLES

FOLDER: Final = "plugins"
"""Where a result keeps the files of its plug-ins, and where one is looked for that is not beside the scenario."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of plug-ins."""

    noun: str
    family: str
    """The table of `mptcplab list` that has the built-in ones."""
    group: str
    """Of the entry points."""
    bases: tuple[type[base.Plugin], ...]


KINDS: Final[Mapping[str, Kind]] = {
    "congestion": Kind("congestion control", "congestion", "mptcplab.congestion", (base.Rule, base.CongestionControl)),
    "scheduler": Kind("scheduler", "schedulers", "mptcplab.schedulers", (base.Scheduler,)),
    "path_manager": Kind("path manager", "path-managers", "mptcplab.path_managers", (base.PathManager,)),
}
"""By the key of a connection."""


@dataclass(frozen=True, slots=True)
class Source:
    """The source of a plug-in, as it was when it was loaded."""

    kind: str
    """A key of `KINDS`."""
    spec: str
    """As the scenario names it: `gentle.py:Gentle`, or the name of an entry point."""
    class_name: str
    file: str
    """The file that the text came from."""
    text: str
    installed: bool = False
    """Whether it is an entry point's."""

    @property
    def sha256(self) -> str:
        """Of the text, in hexadecimal."""
        return sha256(self.text.encode()).hexdigest()

    @property
    def folder(self) -> str:
        """Where in its directory a result keeps the file."""
        return FOLDER

    @property
    def kept_as(self) -> str:
        """The name of the file that a result keeps."""
        return kept_name(self.sha256, Path(self.file).name)

    def load(self) -> type[base.Plugin]:
        """The class. Raises PluginLoadError."""
        if self.installed:
            found = _load(installed(self.kind)[self.spec])
        else:
            found = getattr(_module(self.sha256, self.file, self.text), self.class_name, None)
        return _checked(found, self)


def kept_name(digest: str, name: str) -> str:
    """The name of the file that a result keeps of a plug-in."""
    return f"{digest[:12]}-{name}"


def of_file(kind: str, spec: str, folders: Sequence[Path], digest: str | None = None) -> Source:
    """The plug-in `FILE:CLASS`, its file in the first of `folders` that has it; with the SHA-256 `digest` if given.

    Raises PluginLoadError.
    """
    name, _, class_name = spec.rpartition(":")
    if not name or not class_name.isidentifier():
        raise PluginLoadError(
            _show(spec), f'the file of a {KINDS[kind].noun} and its class, such as "gentle.py:Gentle"'
        )
    file, text = _text(folders, name, digest)
    source = Source(kind, spec, class_name, file, text)
    source.load()
    return source


def of_entry_point(kind: str, name: str) -> Source:
    """The plug-in of an installed package. Raises PluginLoadError."""
    found = installed(kind).get(name)
    if found is None:
        raise PluginLoadError(_show(name), f"a name that an installed package adds to {KINDS[kind].group}")
    loaded = _load(found)
    try:
        file = inspect.getsourcefile(loaded) or ""
        text = Path(file).read_text(encoding="utf-8")
    except (OSError, TypeError, UnicodeDecodeError) as error:
        raise PluginLoadError(f"{_show(name)} without a file of its source ({error})", "a class in a file") from None
    source = Source(kind, name, getattr(loaded, "__qualname__", name), file, text, installed=True)
    source.load()
    return source


@cache
def installed(kind: str) -> dict[str, EntryPoint]:
    """The names that installed packages add."""
    return {point.name: point for point in sorted(entry_points(group=KINDS[kind].group), key=lambda each: each.name)}


def listed(family: str) -> list[tuple[str, str, str]]:
    """What installed packages add to a table of `mptcplab list`: name, what it is, and the package."""
    rows = []
    for kind in (key for key, each in KINDS.items() if each.family == family):
        for name, point in installed(kind).items():
            try:
                summary = (inspect.getdoc(of_entry_point(kind, name).load()) or "").partition("\n")[0]
            except PluginLoadError as error:
                summary = f"cannot be loaded: {error.found}"
            package = "" if point.dist is None else f"{point.dist.name} {point.dist.version}"
            rows.append((name, summary, package))
    return rows


def parameters(source: Source, given: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters as the class takes them. Raises PluginLoadError, whose `key` is the parameter that is wrong."""
    chosen = source.load()
    takes = {
        name: each
        for name, each in inspect.signature(chosen).parameters.items()
        if each.kind in (each.KEYWORD_ONLY, each.POSITIONAL_OR_KEYWORD)
    }
    what = f"one of the parameters of {chosen.__name__}: {', '.join(takes)}" if takes else f"{chosen.__name__} without"
    hints = _hints(chosen)
    read = {}
    for name, value in given.items():
        if name not in takes:
            expected = what if takes else f"{chosen.__name__} without parameters"
            raise PluginLoadError(f"an unknown parameter {_show(name)}", expected, name)
        read[name] = _value(name, value, hints.get(name))
    for name, each in takes.items():
        if each.default is each.empty and name not in given:
            raise PluginLoadError("nothing", f"a value for the parameter {name} of {chosen.__name__}", name)
    try:
        make(chosen, read, 0)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # sys.exit() in a plug-in does not end the program
        why = f"{type(error).__name__}: {error}"
        where = _line_in(error, source.file)
        raise PluginLoadError(
            f"{source.spec}, whose __init__ raises {why}{where}", "parameters that it accepts"
        ) from error
    return read


def make(chosen: type[base.Plugin], given: Mapping[str, Any], seed: int) -> base.Plugin:
    """An object for one end of a connection."""
    made = chosen.__new__(chosen)
    made.random = Random(seed)
    made.__init__(**given)  # type: ignore[misc]  # after its random numbers, which it may need
    return made


def methods(chosen: type[base.Plugin]) -> list[str]:
    """The methods that a class does not leave to its base class."""
    (own,) = (each for kind in KINDS.values() for each in kind.bases if issubclass(chosen, each))
    names = {name for each in own.__mro__ for name, value in vars(each).items() if inspect.isfunction(value)}
    return sorted(name for name in names if getattr(chosen, name) is not getattr(own, name))


def columns(chosen: type[base.Plugin]) -> tuple[base.Column, ...]:
    """What a congestion control shows of itself."""
    return tuple(chosen.columns) if issubclass(chosen, base.Measuring) else ()


def repairs_as_kernel(chosen: type[base.Plugin]) -> bool:
    """Whether a scheduler wants losses repaired as Linux does."""
    return issubclass(chosen, base.Scheduler) and chosen.repair == "kernel"


_texts: dict[str, str] = {}
"""Texts of files by their SHA-256: what was loaded once stays, whatever becomes of the file."""


def keep(text: str) -> None:
    """Let a text be found by its SHA-256, without its file."""
    _texts[sha256(text.encode()).hexdigest()] = text


def _text(folders: Sequence[Path], name: str, digest: str | None) -> tuple[str, str]:
    if digest is not None and digest in _texts:
        return str(folders[0] / name), _texts[digest]
    places = [place for folder in folders for place in _places(folder, name, digest)]
    place = next((place for place in places if files.exists(place)), folders[0] / name)
    try:
        text = files.read(place).decode("utf-8-sig").replace("\r\n", "\n")
    except (OSError, ValueError) as error:
        from mptcplab.scenario.errors import searched

        reason = error.strerror if isinstance(error, OSError) else None
        found = f"{_show(name)}, which cannot be read ({reason or error})"
        raise PluginLoadError(found, f"a Python file, named relative to {searched(folders)}") from None
    own = sha256(text.encode()).hexdigest()
    if digest not in (None, own):
        raise PluginLoadError(f"{place} with the SHA-256 {own}", f"the plug-in with the SHA-256 {digest}")
    _texts[own] = text
    return str(place), text


def _places(folder: Path, name: str, digest: str | None) -> list[Path]:
    """Where a file may be, in a result's directory first where it keeps its plug-ins."""
    kept = [] if digest is None else [folder / FOLDER / kept_name(digest, Path(name).name)]
    return [*kept, folder / name]


_modules: dict[str, ModuleType] = {}


def _module(digest: str, file: str, text: str) -> ModuleType:
    """The module of a text, executed once in this process."""
    if digest in _modules:
        return _modules[digest]
    module = ModuleType(f"mptcplab_plugin_{digest[:12]}")
    module.__file__ = file
    # What a traceback shows is what was loaded, also when the file has changed or gone.
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    sys.modules[module.__name__] = module
    try:
        exec(compile(text, file, "exec"), vars(module))  # noqa: S102 - running it is what a plug-in is for
    except BaseException as error:
        del sys.modules[module.__name__]
        if isinstance(error, KeyboardInterrupt):
            raise
        if isinstance(error, SyntaxError):
            found = f"{file}:{error.lineno}: a syntax error ({error.msg})"
        else:
            found = f"{file}, which raises {type(error).__name__}: {error}{_line_in(error, file)}"
        raise PluginLoadError(found, "a Python file that can be executed") from error
    _modules[digest] = module
    return module


def _load(point: EntryPoint) -> Any:  # noqa: ANN401 - whatever the package has there
    try:
        return point.load()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise PluginLoadError(
            f"{point.name}, which raises {type(error).__name__}: {error}", f"what {point.value} names"
        ) from error


def _checked(found: object, source: Source) -> type[base.Plugin]:
    """The class, if it is one of this kind."""
    kind = KINDS[source.kind]
    bases = " or ".join(each.__name__ for each in kind.bases)
    if found is None:
        own = _module(source.sha256, source.file, source.text)
        classes = [each for each in vars(own).values() if isinstance(each, type) and each.__module__ == own.__name__]
        there = ", ".join(each.__name__ for each in classes) or "none"
        expected = f"a class of {source.file}: there is {there}"
        raise PluginLoadError(f"{_show(source.spec)}, and no {source.class_name} there", expected)
    if not isinstance(found, type):
        raise PluginLoadError(f"{_show(source.spec)}, which is not a class", f"a class that derives from {bases}")
    if not issubclass(found, kind.bases):
        raise PluginLoadError(
            f"{_show(source.spec)}, which derives from {', '.join(each.__name__ for each in found.__bases__)}",
            f"a {kind.noun}: a class that derives from mptcplab.plugins.{bases}",
        )
    if issubclass(found, base.Scheduler) and found.repair not in ("prompt", "kernel"):
        raise PluginLoadError(f"repair = {_show(found.repair)} in {source.spec}", 'repair = "prompt" or "kernel"')
    if issubclass(found, base.Measuring):
        _check_columns(found, source)
    missing = sorted(getattr(found, "__abstractmethods__", ()))
    if missing:
        raise PluginLoadError(
            f"{_show(source.spec)} without {', '.join(missing)}", f"a class with {', '.join(missing)}"
        )
    return found


def _check_columns(found: type[base.Measuring], source: Source) -> None:
    """Raise PluginLoadError for columns that `samples` cannot have."""
    several: Any = found.columns  # whatever stands there
    if not isinstance(several, tuple) or not all(
        isinstance(each, base.Column) and all(isinstance(part, str) for part in each) for each in several
    ):
        raise PluginLoadError(f"columns = {several!r} in {source.spec}", "a tuple of Column(name, unit, summary)")
    taken = {column.name for column in SAMPLES}
    for place, (name, _, _) in enumerate(several):
        if not _COLUMN.fullmatch(name):
            raise PluginLoadError(f"the column {_show(name)} of {source.spec}", "a name such as queueing_delay_s")
        if name in taken or name in [each.name for each in several[:place]]:
            raise PluginLoadError(
                f"the column {_show(name)} of {source.spec}", "a name that `samples` does not have yet"
            )
    if several and "show" not in methods(found):
        raise PluginLoadError(f"{_show(source.spec)} with columns and without show", "a method show for their values")


_COLUMN: Final = re.compile("[a-z][a-z0-9_]*")


def _hints(chosen: type[base.Plugin]) -> Mapping[str, Any]:
    try:
        return typing.get_type_hints(chosen.__init__)
    except Exception:  # annotations of the user's that mean nothing at run time
        return {}


def _value(name: str, value: object, hint: object) -> object:
    """A value of a scenario for a parameter with this annotation."""
    if isinstance(value, int) and not isinstance(value, bool) and hint is float:
        return float(value)
    words = {bool: "true or false", int: "a whole number", float: "a number", str: "a string"}
    if isinstance(hint, type) and hint in words and type(value) is not hint:
        raise PluginLoadError(_show(value), words[hint], name)
    if not _is_plain(value):
        raise PluginLoadError(_show(value), "a number, a string, true or false, or an array of these", name)
    return value


def _is_plain(value: object) -> bool:
    return all(map(_is_plain, value)) if isinstance(value, list) else isinstance(value, bool | int | float | str)


def _line_in(error: BaseException, file: str) -> str:
    """Where in the file an exception was raised."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return f" (line {lines[-1]})" if lines else ""


def _show(value: object) -> str:
    from mptcplab.scenario.errors import show

    return show(value)
