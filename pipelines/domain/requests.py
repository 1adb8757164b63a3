"""What people ask for: the bodies of REST calls, the options of commands, the forms of pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pipelines.domain.decisions import StateFrom


@dataclass(frozen=True)
class RunRequest:
    """Begin a new job from a script. `code` is the script's text; `from_savepoint` begins it on that state (a fork), `new_queries`
    then names those without state there. `python` is the interpreter whose PySpark runs it, empty for Tidemark's own.
    """

    name: str
    script: str
    code: str
    args: tuple[str, ...] = ()
    conf: Mapping[str, str] = field(default_factory=dict)
    master: str = "local[2]"
    python: str = ""
    source: str = ""
    from_savepoint: str = ""
    new_queries: tuple[str, ...] = ()


@dataclass(frozen=True)
class StopRequest:
    """Stop at a batch boundary, with a savepoint unless told not to; or `at_once` (a cancel: never a savepoint)."""

    savepoint: bool = True
    at_once: bool = False
    label: str = ""


@dataclass(frozen=True)
class ResumeRequest:
    """Go on with a job that is not running: from its own checkpoint, or from one of its savepoints (it keeps its query id).

    None keeps what the newest version has; anything given makes a new version (an upgrade). With `batch` it goes back to that
    retained batch of its own checkpoint, of which a savepoint is taken first. `new_queries` names queries that the changed code
    adds: any other query without state is refused, because a renamed one would silently begin anew.
    """

    from_savepoint: str = ""
    batch: int | None = None
    code: str | None = None
    args: tuple[str, ...] | None = None
    conf: Mapping[str, str] | None = None
    master: str | None = None
    new_queries: tuple[str, ...] = ()
    dry_run: bool = False
    python: str | None = None
    script: str | None = None


@dataclass(frozen=True)
class PromoteRequest:
    """The parent of a variant goes on with the variant's version: on its own present state, or from the savepoint they parted at."""

    state: StateFrom = StateFrom.PRESENT
    dry_run: bool = False


@dataclass(frozen=True)
class DropRequest:
    """A variant is ended and marked as dropped: stopped at a batch boundary (with a savepoint unless told not to), or `at_once`."""

    savepoint: bool = True
    at_once: bool = False
    dry_run: bool = False


@dataclass(frozen=True)
class UndropRequest:
    """A dropped variant is taken back: its mark goes, and it is resumed where the drop ended it."""

    dry_run: bool = False


@dataclass(frozen=True)
class TakeRequest:
    """Take a savepoint of a job: of its newest committed batch, of `batch`, of the newest one committed at or before `at_ms`, or
    of the newest one whose watermark was at or before `event_ms` (event time). With `to` it goes to that URL instead of the workspace.
    """

    batch: int | None = None
    at_ms: int | None = None
    event_ms: int | None = None
    label: str = ""
    to: str = ""
    dry_run: bool = False


@dataclass(frozen=True)
class ForkRequest:
    """A new job from a savepoint; None keeps what the savepoint's version has.

    `sinks` says per query (`*`: every other) whether a file sink is to `continue` the parent's output (what is not said does) or
    to begin `fresh`, with only what the fork itself writes. `new_queries` names queries that the changed code adds.
    """

    name: str
    code: str | None = None
    script: str | None = None
    args: tuple[str, ...] | None = None
    conf: Mapping[str, str] | None = None
    master: str | None = None
    sinks: Mapping[str, str] = field(default_factory=dict)
    new_queries: tuple[str, ...] = ()
    dry_run: bool = False
    python: str | None = None


@dataclass(frozen=True)
class ExperimentRequest:
    """Several forks of one savepoint at once; with `with_parent` the savepoint's own job is compared too."""

    name: str
    savepoint: str
    variants: tuple[ForkRequest, ...]
    with_parent: bool = False


@dataclass(frozen=True)
class CompareRequest:
    """Compare the outputs of two jobs. `keys` empty: found from the columns; `query` empty: the first that both have."""

    a: str
    b: str
    query: str = ""
    keys: tuple[str, ...] = ()
    examples: int = 20


@dataclass(frozen=True)
class ExportRequest:
    """Copy a savepoint out of the workspace: to a directory, or into one `.tar.zst` file, at a path or URL.

    `archive` None goes by the ending of `url`. `then_dispose` removes it here once the copy was read back and found intact.
    """

    url: str
    archive: bool | None = None
    then_dispose: bool = False
    dry_run: bool = False


@dataclass(frozen=True)
class ImportRequest:
    """Bring an exported savepoint (directory or `.tar.zst`) into the workspace, under the id it has."""

    url: str


@dataclass(frozen=True)
class AttachRequest:
    """Watch a job that runs elsewhere, by the checkpoint locations of its queries (query -> path or URL), as a job of this name.

    The rest is what a checkpoint does not say: the sink of its queries (for the sink plan of a fork), and the code to fork with.
    """

    name: str
    checkpoints: Mapping[str, str]
    sink: str = ""
    sink_path: str = ""
    script: str = ""
    code: str = ""
    args: tuple[str, ...] = ()
    conf: Mapping[str, str] = field(default_factory=dict)
    master: str = "local[2]"
    spark_version: str = ""


@dataclass(frozen=True)
class AnnotateRequest:
    """Say something of a savepoint, after it was taken; None leaves what is there. An empty label or note takes it away.

    `best_before_ms` is the moment (epoch ms) after which it may be disposed of, which nothing does by itself; 0 takes it away.
    """

    label: str | None = None
    note: str | None = None
    best_before_ms: int | None = None


@dataclass(frozen=True)
class DisposeRequest:
    """Dispose of several savepoints: by ids, unique beginnings of them, or paths."""

    savepoints: tuple[str, ...]
    dry_run: bool = False
