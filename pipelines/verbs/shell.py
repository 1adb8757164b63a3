"""A question or change as text: a command of Tidemark's shell, and a REST call with curl. Pure.

Both say only what differs from the defaults. The text of a script is left for the caller to fill in: a command reads it from its file.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Any
from urllib.parse import quote, urlencode

from pipelines.domain.moments import spelt_duration
from pipelines.domain.resources import spelt_bytes
from pipelines.verbs.declaration import default_of, parts
from pipelines.verbs.reads import Reads
from pipelines.verbs.verb import Asked, Shell, Spelling, spelling

COMMAND = "python -m pipelines"
TO_FILL_IN = "…"
SHOWN_TOKEN = '-H "Authorization: Bearer $TIDEMARK_TOKEN"'
TOKEN_FIRST = f"export TIDEMARK_TOKEN=$({COMMAND} address --token)"
"""What a shell is told once, before any call."""
CODE = "code"
"""The field that holds a script's text."""
FILES = "files"
"""The field that holds the content of other files."""
NO_NAME = "SCRIPT.py"
"""Stands for a script without a file name."""
MIGRATION_FILE = "migration.py"
"""Stands for the file of a migration's function."""
MIGRATE = "migrate"
"""The field that holds its text."""
EVERY_QUERY = "*"
REST_OF_LINE = "-- "
"""How the metavar of an argument begins whose words follow all options."""


def as_command(request: Asked[Any]) -> str:
    """`python -m pipelines savepoint clicks --batch 7`; empty where there is no command."""
    words = words_of(request)
    return f"{COMMAND} {shlex.join(words)}" if words else ""


def words_of(request: Asked[Any]) -> Sequence[str]:
    """The words after `python -m pipelines`; none where there is no command."""
    special = request.words()
    if special is not None:
        return special
    return words_of_fields(request) if request.command or request.within else ()


def words_of_fields(request: Asked[Any]) -> Sequence[str]:
    """The command, its arguments, its options (first those that have to be given), and what follows all options."""
    command, *chooses = (request.command or request.within).split(" --")
    arguments, options, rest = list[str](), list[str](), list[str]()
    for part in sorted(_given(request), key=lambda part: default_of(part) is not MISSING):
        words, spelt = _typed(request, part), spelling(part)
        if spelt.shell is Shell.OPTION:
            options += _flagged(part, spelt, getattr(request, part.name), words)
        elif spelt.metavar.startswith(REST_OF_LINE):
            rest += ["--", *words]
        elif spelt.shell is Shell.ARGUMENT:
            arguments += words
    return [*command.split(), *arguments, *(f"--{option}" for option in chooses), *options, *rest]


def _given(request: Asked[Any]) -> list[Field[Any]]:
    """The fields that differ from their defaults, or have none."""
    return [part for part in fields(request) if getattr(request, part.name) != default_of(part)]  # type: ignore[arg-type]


def _typed(request: Asked[Any], part: Field[Any]) -> Sequence[str]:
    """The value as the command reads it, a word for each time that it is given."""
    value = getattr(request, part.name)
    match spelling(part).reads:
        case Reads.MOMENT:
            return [_moment(value)]
        case Reads.LAST_DAY:
            return [_moment(value) if value else "none"]
        case Reads.DURATION:
            return [spelt_duration(value) if value else "usual"]
        case Reads.SIZE:
            return [spelt_bytes(value) if value else "none"]
        case Reads.FILE if part.name != CODE:
            return [f"{part.name}.txt"]
        case Reads.FILE | Reads.SCRIPT:
            return [getattr(request, "script", "") or NO_NAME]
        case Reads.FILES:
            return [f"{path}={'' if text is None else path}" for path, text in value.items()]
        case Reads.PAIRS:
            return [f"{key}={text}" for key, text in value.items()]
        case Reads.KEY:
            return [column if text is None else f"{column}={text}" for column, text in value.items()]
        case Reads.FUNCTION:
            return [f"{MIGRATION_FILE}:{name}" if text else name for name, text in value.items()]
        case Reads.SINKS:
            return [choice if query == EVERY_QUERY else f"{query}={choice}" for query, choice in value.items()]
        case Reads.BATCHES if isinstance(value, Mapping):
            return [f"{query}={batch}" for query, batch in value.items()]
        case _:
            return [_text(item) for item in value] if isinstance(value, tuple) else [_text(value)]


def _flagged(part: Field[Any], spelt: Spelling, value: Any, words: Sequence[str]) -> Sequence[str]:
    """`--batch 7`, `--no-savepoint`, `--arg=--out`."""
    flag, _, otherwise = (spelt.flag or f"--{part.name.replace('_', '-')}").partition("/")
    if isinstance(value, bool):
        return [flag if value else otherwise or f"--no-{flag.removeprefix('--')}"]
    return [text for word in words for text in ((f"{flag}={word}",) if word.startswith("-") else (flag, word))]


def as_call(request: Asked[Any], url: str) -> str:
    """The call with curl, of the server at `url`; the shell has the token as `TIDEMARK_TOKEN`."""
    names_given = [part.name for part in _given(request)]
    path, query, body = ([part.name for part in parts(type(request), place)] for place in ("path", "query", "body"))
    where = request.http.path.format(**{name: quote(_text(getattr(request, name)), safe="") for name in path})
    pairs = [(name, _query_value(getattr(request, name))) for name in query if name in names_given]
    address = f"{url}/api/v1{where}{f'?{urlencode(pairs, doseq=True)}' if pairs else ''}"
    line = f"curl {SHOWN_TOKEN} {'' if request.http.method == 'GET' else f'-X {request.http.method} '}{shlex.quote(address)}"
    if not body:
        return line
    sent = {name: _json(name, getattr(request, name)) for name in body if name in names_given}
    return f"{line} \\\n  --json {shlex.quote(json.dumps(sent, ensure_ascii=False))}"


def _query_value(value: Any) -> Any:
    return [_text(item) for item in value] if isinstance(value, tuple) else _text(value)


def _json(name: str, value: Any) -> Any:
    """The value as JSON has it."""
    if name == CODE:
        return TO_FILL_IN
    if name in (FILES, MIGRATE) and value is not None:
        return {path: text if not text else TO_FILL_IN for path, text in value.items()}
    if is_dataclass(value):
        return {part.name: _json(part.name, getattr(value, part.name)) for part in _given(value)}  # type: ignore[arg-type]
    if isinstance(value, Mapping):
        return dict(value)
    return [_json("", item) for item in value] if isinstance(value, tuple) else value


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value.value if isinstance(value, Enum) else value)


def _moment(at_ms: int) -> str:
    """ISO 8601 in UTC, to the millisecond: an input that is read back is the same moment."""
    return datetime.fromtimestamp(at_ms / 1_000, UTC).isoformat(timespec="milliseconds" if at_ms % 1_000 else "seconds")
