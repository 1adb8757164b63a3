"""A verb is declared once, as a dataclass of its fields. Command, REST call, remote client, docs and access are made from it.

Declarations stand in the modules of this folder, one verb a module (questions by noun); `pipelines.verbs.every` lists them.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field
from typing import Any, ClassVar, Generic, TypeVar

from pipelines.domain.access import Role
from pipelines.domain.errors import TidemarkError
from pipelines.domain.moments import LONGEST_MS
from pipelines.domain.operations import Operation
from pipelines.domain.texts import Text
from pipelines.verbs import limits
from pipelines.verbs.reads import TEXTS, Reads
from pipelines.verbs.rows import Filter

A = TypeVar("A")
Shown = TypeVar("Shown", covariant=True)
P = TypeVar("P")


class Shell(enum.StrEnum):
    """Where a command has a field."""

    ARGUMENT = "argument"
    OPTION = "option"
    ABSENT = "absent"
    """Only REST and pages have it, or the command makes it of others."""


@dataclass(frozen=True)
class Spelling:
    """What a field is called and how it is read, on the shell and over REST."""

    help: str
    at: str
    """Where a REST call has it: `path`, `query` or `body`; empty for the usual place (the body of a change, the query of a question)."""
    shell: Shell
    flag: str
    metavar: str
    reads: Reads
    least: int | None
    most: int | None
    text: Text
    """What kind of text it is, or its items are."""
    filters: Filter | None = None


def spelling(part: Field[Any]) -> Spelling:
    """How a field is spelt; raises KeyError for a field that is no part of a declaration."""
    spelt: Spelling = part.metadata["spelling"]
    return spelt


def named(help: str, *, reads: Reads = Reads.TEXT, metavar: str = "") -> Any:
    """A field that names the subject: a part of the path, the command's first argument."""
    return field(metadata={"spelling": Spelling(help, "path", Shell.ARGUMENT, "", metavar, reads, None, None, TEXTS[reads])})


def argument(help: str, default: Any = MISSING, *, reads: Reads = Reads.TEXT, metavar: str = "", text: Text | None = None) -> Any:
    """A field that is given by its place in a command, and by its name over REST."""
    spelt = Spelling(help, "", Shell.ARGUMENT, "", metavar, reads, None, None, text or TEXTS[reads])
    return field(default=default, metadata={"spelling": spelt})


def option(
    help: str,
    default: Any = MISSING,
    *,
    factory: Any = MISSING,
    at: str = "",
    flag: str = "",
    metavar: str = "",
    reads: Reads = Reads.TEXT,
    least: int | None = None,
    most: int | None = None,
    shell: Shell = Shell.OPTION,
    text: Text | None = None,
    filters: Filter | None = None,
) -> Any:
    """A field that is an option. `flag` is `--name` unless it says otherwise (`--yes/--no` for a truth); bounds count in."""
    spelt = Spelling(help, at, shell, flag, metavar, reads, least, most, text or TEXTS[reads], filters)
    return field(default=default, default_factory=factory, metadata={"spelling": spelt})


def duration(help: str, flag: str, least: int = 0) -> Any:
    """An option that is a time in ms; None where it is not given."""
    return option(help, None, flag=flag, metavar="DURATION", reads=Reads.DURATION, least=least, most=LONGEST_MS)


@dataclass(frozen=True)
class Http:
    """A REST call: method, path below `/api/v1` with `{field}` for what is named, status of its answer."""

    method: str
    path: str
    status: int = 200
    name: str = ""
    """Id of the operation in OpenAPI, where it is not the declaration's own."""


@dataclass(frozen=True)
class Works:
    """The operation of a change: its kind, its job and its subject."""

    kind: str
    job: str
    subject: str = ""
    can_cancel: bool = True


@dataclass(frozen=True)
class Kind:
    """A kind of operation in words: `Taking a savepoint of`, `Took a savepoint of`; whether one that is cancelled leaves nothing."""

    doing: str
    done: str
    makes: bool = False
    checks: bool = False
    """Whether its result is a level of trust, or that damage was found."""
    reaches: str = ""
    """The level of trust that it is to reach; less than that is not what was asked for."""
    waits: str = ""
    """What it waits for before it says how far it is."""
    about: str = "{subject} of {job}"
    """What it works on, where that is a savepoint."""
    outcome: str = "{done} {about}"
    """What has come of it, where it has a result."""


class Asked(Generic[Shown]):
    """Base of what can be asked of a workspace; `Shown` is what it answers. The docstring is its help, its first sentence the summary."""

    call: ClassVar[str]
    """Id of its operation in OpenAPI."""
    topic: ClassVar[str]
    """The group that REST's documentation has it in; `TOPICS` describes them."""
    role: ClassVar[Role]
    """Whoever has this role, or a higher one, may ask it. There is no usual one: each declaration says it."""
    http: ClassVar[Http]
    also: ClassVar[tuple[Http, ...]] = ()
    """Other paths that reach the same."""
    command: ClassVar[str] = ""
    """Its word on the shell; empty where no command is it alone."""
    shell: ClassVar[str] = ""
    """What the help of the command says besides: what it prints."""
    within: ClassVar[str] = ""
    """Where a command does this among other things: that command, with the options that choose this (`state --tables`)."""
    refuses: ClassVar[tuple[type[TidemarkError], ...]] = ()
    """Groups of errors that it may raise; Invalid and an unexpected failure may come from every one."""

    def __post_init__(self) -> None:
        """However it was asked, its texts are as its fields say; else Invalid."""
        limits.check(self)

    def needs(self) -> Role:
        """The role that this very value takes, where what is given makes it more than the declaration's own."""
        return self.role

    def words(self) -> Sequence[str] | None:
        """The words of its command, where they are not made from its fields; else None."""
        return None


class Question(Asked[Shown]):
    """Base of questions, which change nothing."""

    pages_by: ClassVar[str] = ""
    """The field that goes on where a full list ended, at the `cursor` of its last row."""


class Change(Asked[A], Generic[A, P]):
    """Base of changes, and of questions that take long. `P` is the plan: the value that a dry run answers is the one that is executed."""

    follows: ClassVar[bool] = False
    """Whether REST answers with the operation at once, instead of with what comes of it."""
    kinds: ClassVar[Mapping[str, Kind]] = {}
    """The kinds of operation that it works as."""
    prints: ClassVar[str] = ""
    """What its command prints: a format of the answer (`{0.id}`)."""
    rebuilds: ClassVar[bool] = False
    """Whether it also works on a workspace whose catalog cannot be read."""
    makes_workspace: ClassVar[bool] = False
    """Whether its command makes the workspace that it is given, where there is none."""
    shown_once: ClassVar[bool] = False
    """Whether its answer is a secret that is kept nowhere: who sends it again does not see it again."""

    def unchanged(self) -> Question[Any] | None:
        """The question that its command asks instead, where nothing is given that would change anything; None where that is an error."""
        return None

    def left_to_server(self) -> str:
        """What a running server does with it from then on, in words for who has none; empty where it leaves nothing to one."""
        return ""

    def works_as(self, plan: P) -> Works | None:
        """The operation of the change; None where it is done at once."""
        return None

    def warns(self, plan: P) -> Sequence[str]:
        """What who began it is told: what its plan warns of where what was given makes that likely to be missed."""
        return ()

    def result(self, answer: A) -> str:
        """The result that its operation shows."""
        return ""


WARNINGS_HEADER = "tidemark-warnings"
"""Has the warnings of a change that was begun over REST: a JSON list of texts."""


@dataclass(frozen=True)
class Begun(Generic[A]):
    """A change that was begun: its operation while it works, its answer where it is there at once."""

    change: Change[A, Any]
    operation: Operation | None = None
    answer: A | None = None
    warnings: tuple[str, ...] = ()
    """What `warns` said of the plan that is carried out."""

    @property
    def is_answered(self) -> bool:
        """Whether the change is done; `answer` may then be None where the change answers with None."""
        return self.operation is None
