"""What a script's own code reads: files, as a configuration, rules, a schema, environment variables, and what it asks elsewhere. What it
makes of them is in its plans, and in no code."""

from __future__ import annotations

import os
import re
import secrets
import sys
import threading
from collections.abc import Iterable, Iterator
from dataclasses import replace
from multiprocessing import util
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from pipelines.domain import read_variables, references
from pipelines.domain.installed import KINDS, LINK, Installed, is_unread, merged, names, unread
from pipelines.domain.run_specs import RunSpec
from pipelines.driver import callers, catalog_conf, installed, natives, statuses

THE_MACHINES = ("/usr/", "/proc/", "/sys/", "/lib")
MADE = os.O_CREAT | os.O_TRUNC
DATABASE = "sqlite3.connect"
"""Python's event of a database that C opens."""
CHANGES = "-wal"
"""Ends the name of SQLite's file of what it has not put into the database yet."""
CONNECT, SHELL, PROGRAMS = "socket.connect", "os.system", ("subprocess.Popen", "os.posix_spawn")
ELSEWHERE = (CONNECT, SHELL, *PROGRAMS, "os.fork", "os.forkpty")
CODE = (".py", ".sql")
BYTECODE = re.compile(r"(.*)/__pycache__/([^./]+)\..*pyc")
IN_SQL = re.compile(r"\$\{env:([^{}]+)\}")
"""A variable that Spark itself puts into a statement (VariableSubstitution)."""
SHIPPED = "/__spark_conf__"
"""Where YARN puts the confs of a driver that it starts: a copy, in a folder that is another each time."""
NAME, NAME_FILE = "socket.gethostname", "/etc/hostname"
"""Python's event of who asks for the machine's name, and where that is kept."""
SCAN, LIBRARY = "os.scandir", "ctypes.dlopen"
LISTS = ("os.listdir", SCAN)
MOST_PATHS = 10_000
_noted: dict[str, str] = {}
_listed: dict[str, str] = {}
_missed: dict[str, str] = {}
_answers: dict[str, str] = {}
"""What the script asked of paths that it may never open -> what it was told first, as `Installed.files`."""
_variables: set[str] = set()
_passed: set[str] = set()
"""Variables of one process alone that a list of all has told the name of: who asks for their values next may only be looking through."""
_outside: dict[str, str] = {}
_asked: set[str] = set()
_apart: list[str] = []
_confs: list[str] = []
"""Files of this machine that Spark takes confs of, of which no version says anything."""
_SALT = secrets.token_hex(8)


def note(spec: RunSpec) -> None:
    """From now on the files are noted that the script opens to read them, by itself or through a library, and the variables that it asks
    for. No files are those of its version, which are compared by their bytes, and what the job writes itself."""
    if not _apart:
        sys.addaudithook(_hear)  # it cannot be taken away again
        _listen(type(os.environ))
        _listen_to_spawns()
        callers.follow(threading.Thread)
        statuses.install(_answered)
    own = (str(Path(spec.script).parent), spec.output, spec.checkpoints, spec.warehouse)
    folders = (*own, sys.prefix, sys.base_prefix, os.environ.get("SPARK_HOME", ""))
    _apart[:] = [*THE_MACHINES, *(os.path.realpath(folder) + os.sep for folder in folders if folder)]
    _confs[:] = [str(folder / catalog_conf.DEFAULTS) for folder in catalog_conf.configurations(os.environ)][:1]
    referred = list(references.named(spec.args))
    for paths in (_noted, _listed, _missed, _answers):
        paths.clear()
    _noted.update(dict.fromkeys((name for kind, name in referred if kind == "file"), ""))
    _passed.clear()
    _variables.clear()
    _variables.update(name for kind, name in referred if kind == "env")
    _variables.update(_in_sql(Path(spec.script).parent))
    _outside.clear()
    _outside.update(os.environ)
    callers.forget()
    _asked.clear()
    _asked.update(natives.of(Path(spec.script).parent))


def noted(files: Iterable[str], asked: Iterable[str]) -> None:
    """Files that something has read for the script, and what it has asked, as if it had done so itself."""
    _noted.update(dict.fromkeys(files, ""))
    _asked.update(asked)


def stands(spark: Any, spec: RunSpec) -> Installed:
    """What the run stands on, with what its script has read so far: that is in the plan of the query that starts now."""
    return replace(installed.of(spark, Path(spec.script).parent), files=files(), variables=variables(), asked=asked())


def files() -> dict[str, str]:
    """Path -> what `Installed.files` has of it as of now: of each that is still there, of folders by what is in them, and of what was asked
    for in vain; and what it was told of paths."""
    told = {path: _bytes(path) for path in _foreign(_noted) if os.path.isfile(path)}
    told.update({path: names(os.listdir(path)) for path in _foreign(_listed) if os.path.isdir(path) and os.access(path, os.R_OK)})
    missed = {path: "" for path in _foreign([*_missed, *_listed]) if not os.path.exists(path)}
    told.update({path: _bytes(path) if os.path.isfile(path) else "" for path in _confs if SHIPPED not in path})
    return merged(missed, told, {path: answer for path, answer in list(_answers.items()) if _is_foreign(path)})


def _foreign(paths: Iterable[str]) -> list[str]:
    """Those that are neither of the version nor what the job writes itself."""
    places = sorted({os.path.realpath(path) for path in list(paths)})
    return [place for place in places if _is_foreign(place)]


def _is_foreign(place: str) -> bool:
    return not f"{place}{os.sep}".startswith(tuple(_apart))


def variables() -> dict[str, str]:
    """Name of each -> what `Installed.variables` has of it, as it was before the script."""
    return read_variables.noted(set(_variables), _outside, _SALT)


def asked() -> tuple[str, ...]:
    """As `Installed.asked`."""
    return tuple(sorted(_asked))


def _bytes(path: str) -> str:
    status = os.stat(path)
    is_owners = not status.st_mode & 0o077
    return ("" if is_owners else installed.sha256(path)) or unread(status.st_size, status.st_ctime_ns)


def _in_sql(version: Path) -> Iterator[str]:
    for path in version.rglob("*"):
        if path.suffix in CODE and path.is_file():
            yield from IN_SQL.findall(path.read_text(errors="replace"))


def _hear(event: str, args: tuple[Any, ...]) -> None:
    """A hook of Python's (`sys.addaudithook`), which hears of all that is opened."""
    if event in ELSEWHERE and _is_of_plans():
        _asked.add(_elsewhere(event, args))
    if event == NAME and _is_of_plans():
        _keep(_noted, NAME_FILE)
    if event in LISTS and isinstance(args[0] or ".", str | bytes | os.PathLike) and _is_of_plans():
        _keep(_listed, _file(os.fsdecode(args[0] or ".")))
        if event == SCAN and callers.through(sys._getframe(1), callers.SPARKS) == []:
            _asked.add("os.scandir, which tells of files in a folder how old they are")
    if event not in ("open", DATABASE, LIBRARY) or not isinstance(args[0], str | bytes | os.PathLike):
        return
    is_read = not _is_written(args[2]) if event == "open" else not callers.is_called_back()
    if is_read and callers.is_by_script():
        file = _file(os.fsdecode(args[0]))
        _keep(_noted, file)
        if event == DATABASE and os.path.isfile(file):
            _keep(_noted, file + CHANGES)
            _keep(_missed, file + CHANGES)
        if event == "open" and not os.path.exists(file) and _is_of_plans():
            _keep(_missed, file)


def _is_of_plans() -> bool:
    """Whether the script asks, and not Spark for it, nor a sink's function for its batches."""
    return callers.through(sys._getframe(2), callers.SPARKS) is not None and not callers.is_called_back()


def _answered(path: str, answer: str) -> None:
    """Of a link it counts where it leads, of all else what is there."""
    place = path if answer.startswith(LINK) else os.path.realpath(path)
    if place not in _answers:
        _keep(_answers, place, answer)
    elif _answers[place] in KINDS and is_unread(answer):
        _answers[place] = answer


def _keep(paths: dict[str, str], path: str, noted: str = "") -> None:
    """A script that opens other files for as long as it runs is heard no longer from some number on."""
    if len(paths) < MOST_PATHS:
        paths[path] = noted
    elif path not in paths:
        _asked.add(f"for over {MOST_PATHS:,} files")


def _is_written(flags: Any) -> bool:
    return isinstance(flags, int) and bool(flags & MADE or flags & os.O_ACCMODE == os.O_WRONLY)


def _elsewhere(event: str, args: tuple[Any, ...]) -> str:
    """A service by its address, a program by its name: what else is said to it may be secret."""
    if event == CONNECT:
        place = args[1]
        return f"the service at {place[0]}:{place[1]}" if isinstance(place, tuple) and len(place) > 1 else f"the service at {place}"
    if event in PROGRAMS:
        return f"the program {os.fsdecode(args[0])}"
    return "a shell" if event == SHELL else "a process of its own"


def _file(named: str) -> str:
    """The file of a path, or of an address of SQLite's (`file:rates.db?mode=ro`); of bytecode its source, which it is made of anew."""
    is_address = named.startswith("file:")
    path = os.path.abspath(unquote(urlsplit(named).path) if is_address else named)
    match = BYTECODE.fullmatch(path)
    return f"{match[1]}/{match[2]}.py" if match else path


def _listen_to_spawns() -> None:
    """Has processes heard that `multiprocessing` starts anew, of which Python sends no event."""
    spawn = util.spawnv_passfds

    def spawned(path: Any, *args: Any) -> Any:
        if _is_of_plans():
            _asked.add(f"the program {os.fsdecode(path)}")
        return spawn(path, *args)

    util.spawnv_passfds = spawned  # type: ignore[assignment]


def _listen(environ: Any) -> None:
    """Has each reading of a variable heard: whatever asks for one asks this class of Python's (`os._Environ`), which sends no event."""
    value, names = environ.__getitem__, environ.__iter__

    def asked(self: Any, key: Any) -> Any:
        name = os.fsdecode(key) if isinstance(key, str | bytes) else ""
        if name in _passed:
            _passed.discard(name)
        elif name and callers.is_by_script(callers.SPARKS):
            _variables.add(name)
        return value(self, key)

    def listed(self: Any) -> Iterator[Any]:
        if not callers.is_by_script(callers.SPARKS):
            return names(self)  # type: ignore[no-any-return]
        _variables.update(read_variables.of_all(_outside))
        return map(passed, names(self))

    def passed(key: Any) -> Any:
        _passed.update(read_variables.apart([os.fsdecode(key)]))
        return key

    environ.__getitem__, environ.__iter__ = asked, listed
