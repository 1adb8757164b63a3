"""Environment variables that a script reads: noted by their names, each with what tells its value apart and never is it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

ALL = "*"
"""Stands for the names of all: of a script that looks through them."""
OURS_AND_SPARKS = re.compile(
    r"TIDEMARK_\w+|PYSPARK_\w+|PYTHON(PATH|UNBUFFERED|DONTWRITEBYTECODE)|JAVA_HOME"
    r"|SPARK_(LOCAL_IP|SUBMIT_OPTS|AUTH_SOCKET_TIMEOUT|BUFFER_SIZE)"
)
"""What Tidemark and PySpark set for one process; all else is as the server has it."""
OF_THE_PROCESS = re.compile(
    r"_|(OLD)?PWD|SHLVL|TERM\w*|COLORTERM|COLUMNS|LINES|LS_COLORS|WINDOWID|DISPLAY|(SSH|XDG|DBUS|LISTEN|STY|TMUX|GPG)\w*"
    r"|INVOCATION_ID|JOURNAL_STREAM|MANAGERPID\w*|SYSTEMD_EXEC_PID|NOTIFY_SOCKET|MEMORY_PRESSURE_\w+"
)
"""What a shell, a terminal or a service manager tells each process otherwise: noted where a script asks for it by its name, and not where
it looks through all there is."""
TRIES = {"n": 2**12, "r": 8, "p": 1, "dklen": 16}
"""Of scrypt: some ten milliseconds for each value that somebody tries, who wants to know a short one."""


def noted(names: Iterable[str], environment: Mapping[str, str], salt: str) -> dict[str, str]:
    """Name -> what is noted of it as it is in `environment`; `salt` is another for each process that notes."""
    return {name: _concealed(name, _value(name, environment), salt) for name in sorted(names) if not OURS_AND_SPARKS.fullmatch(name)}


def of_all(environment: Mapping[str, str]) -> list[str]:
    """The names that somebody has read who looked through `environment`."""
    return [ALL, *(environment.keys() - apart(environment))]


def apart(names: Iterable[str]) -> set[str]:
    """Those of one process alone."""
    return {name for name in names if OF_THE_PROCESS.fullmatch(name)}


def others(then: Mapping[str, str], environment: Mapping[str, str]) -> Iterator[str]:
    """The variables that were noted then, and have other values in `environment`, in words."""
    for name, was in sorted(then.items()):
        now = _value(name, environment)
        if _concealed(name, now, was.rpartition(":")[0]) == was:
            continue
        if name == ALL:
            yield "The script read all environment variables, and there are others now."
        else:
            change = "is not set now" if now is None else "is another now" if was else "was not set, and is now"
            yield f"The script read the environment variable {name}, which {change}."


def _value(name: str, environment: Mapping[str, str]) -> str | None:
    if name != ALL:
        return environment.get(name)
    return " ".join(sorted(name for name in of_all(environment) if not OURS_AND_SPARKS.fullmatch(name)))


@lru_cache(maxsize=1_000)
def _concealed(name: str, value: str | None, salt: str) -> str:
    """Empty where it is not set. Equal values of two variables are not seen to be equal."""
    if value is None:
        return ""
    return f"{salt}:{hashlib.scrypt(value.encode(errors='surrogatepass'), salt=f'{salt} {name}'.encode(), **TRIES).hex()}"
