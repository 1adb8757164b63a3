"""A SQL file as a job: its statements, what each is for, and what can be said of it without Spark. Pure.

The statements are Spark's own grammar (4.3). `CREATE TEMPORARY VIEW … USING` is a source, which a query reads as a stream where it says
`STREAM name` and whole where it does not; `CREATE STREAMING TABLE … AS` starts a query with its sink, and
`CREATE MATERIALIZED VIEW … AS` writes once.
"""

from __future__ import annotations

import enum
import keyword
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pipelines.domain.sql_text import blanked, error, line_of, spans
from pipelines.domain.texts import MOST_ITEMS

SUFFIX = ".sql"
_NAME = r"(?P<name>`[^`]+`|[\w.]+)"
_VARIABLE = re.compile(r"\$\{(?:hivevar:|hiveconf:)?([^\s:}]+)\}")
_SET = re.compile(r"SET\s+(?:hivevar:|hiveconf:)?([\w.-]+)\s*=", re.IGNORECASE)
_STREAM = re.compile(rf"\bSTREAM\b\s*\(?\s*{_NAME}", re.IGNORECASE)
_WHOLE = re.compile(rf"\b(?:FROM|JOIN)\s+(?!STREAM\b){_NAME}", re.IGNORECASE)
_COLUMNS = r"\((?:[^();]|\([^();]*\))*\)"
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


class Does(enum.Enum):
    """What a statement is for."""

    SETS = "sets"
    SOURCE = "source"
    STEP = "step"
    STREAMS = "streams"
    WRITES = "writes"


_TEMPORARY = r"CREATE\s+(?:OR\s+REPLACE\s+)?TEMP(?:ORARY)?\s+"
_TABLE = r"\s+(?:IF\s+NOT\s+EXISTS\s+)?"
_FORMS: Sequence[tuple[re.Pattern[str], Does]] = tuple(
    (re.compile(form, re.IGNORECASE), does)
    for form, does in (
        (r"SET\s", Does.SETS),
        (rf"{_TEMPORARY}VIEW\s+{_NAME}\s*(?:{_COLUMNS}\s*)?USING\s", Does.SOURCE),
        (rf"{_TEMPORARY}VIEW\s+{_NAME}", Does.STEP),
        (rf"{_TEMPORARY}FUNCTION\s", Does.STEP),
        (r"DECLARE\s", Does.STEP),
        (rf"CREATE\s+STREAMING\s+TABLE{_TABLE}{_NAME}", Does.STREAMS),
        (rf"CREATE\s+MATERIALIZED\s+VIEW{_TABLE}{_NAME}", Does.WRITES),
    )
)
_KNOWN = (
    "a SQL job has SET, CREATE TEMPORARY VIEW, CREATE TEMPORARY FUNCTION, DECLARE, CREATE STREAMING TABLE … AS and "
    "CREATE MATERIALIZED VIEW … AS"
)
_WRITE_SO = "CREATE STREAMING TABLE name USING format AS SELECT … starts a query that writes"


@dataclass(frozen=True)
class Statement:
    """One statement. `line` is its first in the file, from 1; `code` is its text with comments and quoted text blanked out, same length."""

    text: str
    code: str
    line: int
    does: Does
    name: str

    @property
    def is_sink(self) -> bool:
        return self.does in (Does.STREAMS, Does.WRITES)


def is_sql(script: str) -> bool:
    """Whether a script of this name is SQL."""
    return script.lower().endswith(SUFFIX)


def looks_like(code: str) -> bool:
    """Whether code of no name is SQL: its first words begin a statement of a SQL job."""
    words = re.sub(r"\A(?:\s|--[^\n]*|/\*.*?\*/)+", "", code, flags=re.DOTALL)
    return any(form.match(words) for form, _ in _FORMS)


def check(code: str, filename: str = "job.sql") -> tuple[Statement, ...]:
    """The statements of a SQL job; SyntaxError, with the line, where they are none, or none of them is a sink."""
    job = statements(code, filename)
    sinks = dict[str, Statement]()
    for statement in job:
        if not statement.is_sink:
            continue
        if not re.search(r"\bAS\b", statement.code, re.IGNORECASE):
            raise error(code, filename, statement.line, f"{statement.name} has no AS SELECT …: {_WRITE_SO}")
        if statement.name.lower() in sinks:
            before = sinks[statement.name.lower()].line
            raise error(
                code, filename, statement.line, f"line {before} has a sink of the name {statement.name} already; it names its query"
            )
        sinks[statement.name.lower()] = statement
    if not sinks:
        raise error(code, filename, max(1, code.rstrip().count("\n") + 1), f"the job has no sink: {_WRITE_SO}")
    _check_streams(job, code, filename)
    return job


def statements(code: str, filename: str = "job.sql") -> tuple[Statement, ...]:
    """The statements in their order; SyntaxError where one is no statement that a SQL job has."""
    if _REPLACEMENT in code:
        raise error(code, filename, line_of(code, code.index(_REPLACEMENT)), "the file is not UTF-8 text: save it as UTF-8")
    blank = blanked(code, filename)
    places = list(spans(blank))
    if len(places) > MOST_ITEMS:
        raise error(code, filename, line_of(code, places[MOST_ITEMS][0]), f"a SQL job has at most {MOST_ITEMS:,} statements")
    return tuple(_statement(code, blank, start, end, filename) for start, end in places)


def streamed(job: Sequence[Statement]) -> frozenset[str]:
    """Names that some statement reads with `STREAM`, in lower case: Spark does not distinguish."""
    return frozenset(plain(match["name"]) for statement in job for match in _STREAM.finditer(_with_names(statement)))


def variables(code: str, filename: str = "job.sql") -> Mapping[str, int]:
    """The names of the `${name}` that the file does not set itself, with their first lines; Spark's own confs are none."""
    known, free = set[str](), dict[str, int]()
    for statement in statements(code, filename):
        text, line, at = _without_comments(statement), statement.line, 0
        for match in _VARIABLE.finditer(text):
            line, at = line + text.count("\n", at, match.start()), match.start()
            if match[1] not in known and not match[1].startswith("spark."):
                free.setdefault(match[1], line)
        known |= {setting[1] for setting in [_SET.match(text)] if setting}
    return free


def values(args: Sequence[str]) -> Mapping[str, str]:
    """`--name value` or `--name=value` for each `${name}`; ValueError says which argument is neither."""
    given, left = dict[str, str](), list(args)
    while left:
        word = left.pop(0)
        name, is_whole, value = word.removeprefix("--").partition("=")
        if not word.startswith("--") or not name or not (is_whole or left):
            raise ValueError(f"{word!r} is no --name value")
        given[name] = value if is_whole else left.pop(0)
    return given


def title(code: str) -> str:
    """The first paragraph of the comment that the file begins with; empty where there is none."""
    lines = list[str]()
    for line in code.lstrip().splitlines():
        words = line.strip().removeprefix("--").strip()
        if not line.strip().startswith("--") or not words:
            break
        lines.append(words)
    return " ".join(lines)


def plain(name: str) -> str:
    """A name as Spark compares it."""
    return name.strip("`").lower()


def _statement(code: str, blank: str, start: int, end: int, filename: str) -> Statement:
    line = line_of(code, start)
    for form, does in _FORMS:
        if match := form.match(blank, start, end):
            _check_brackets(code, blank, start, end, filename)
            name = code[slice(*match.span("name"))].strip("`") if "name" in form.groupindex else ""
            return Statement(code[start:end], blank[start:end], line, does, name)
    words = blank[start:end].split()
    if keyword.iskeyword(words[0]) and words[0].islower():
        raise error(code, filename, line, f"{words[0]!r} is Python's, whose scripts are named .py; {_KNOWN}")
    raise error(code, filename, line, f"{' '.join(words[:2])!r} begins no statement; {_KNOWN}")


def _check_streams(job: Sequence[Statement], code: str, filename: str) -> None:
    """SyntaxError where a source is read both as a stream and whole: Spark has one view of a name."""
    sources = {plain(statement.name) for statement in job if statement.does is Does.SOURCE} & streamed(job)
    for statement in job:
        for match in _WHOLE.finditer(_with_names(statement)):
            if plain(match["name"]) in sources:
                line = statement.line + statement.code.count("\n", 0, match.start("name"))
                message = f"{match['name']} is read with STREAM and without: give what is read whole a view of its own"
                raise error(code, filename, line, message)


def _with_names(statement: Statement) -> str:
    """The statement without comments and texts, with its quoted names."""
    return "".join(
        written if blank == "`" or (blank == "_" and written.isidentifier()) else blank
        for written, blank in zip(statement.text, statement.code, strict=True)
    )


def _check_brackets(code: str, blank: str, start: int, end: int, filename: str) -> None:
    is_open = list[int]()
    for at in range(start, end):
        if blank[at] == "(":
            is_open.append(at)
        elif blank[at] == ")" and not is_open:
            raise error(code, filename, line_of(code, at), "this ) closes nothing")
        elif blank[at] == ")":
            is_open.pop()
    if is_open:
        raise error(code, filename, line_of(code, is_open[-1]), "this ( is not closed before the statement ends")


def _without_comments(statement: Statement) -> str:
    pairs = zip(statement.text, statement.code, strict=True)
    return "".join(" " if hidden == " " and not written.isspace() else written for written, hidden in pairs)
