"""What people ask for: the bodies of REST calls, the options of commands, the forms of pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class RunRequest:
    """Begin a new job from a script. `code` is the script's text; `from_savepoint` begins it on that state (a fork)."""

    name: str
    script: str
    code: str
    args: tuple[str, ...] = ()
    conf: Mapping[str, str] = field(default_factory=dict)
    master: str = "local[2]"
    python: str = ""
    source: str = ""
    from_savepoint: str = ""


@dataclass(frozen=True)
class StopRequest:
    """Stop at a batch boundary, with a savepoint unless told not to; or `at_once` (a cancel: never a savepoint)."""

    savepoint: bool = True
    at_once: bool = False
    label: str = ""


@dataclass(frozen=True)
class ResumeRequest:
    """Go on with a job that is not running: from its own checkpoint, or from one of its savepoints (it keeps its query id).

    None keeps what the newest version has; anything given makes a new version (an upgrade).
    """

    from_savepoint: str = ""
    code: str | None = None
    args: tuple[str, ...] | None = None
    conf: Mapping[str, str] | None = None
    master: str | None = None
    dry_run: bool = False


@dataclass(frozen=True)
class TakeRequest:
    """Take a savepoint of a job: of its newest committed batch, of `batch`, or of the newest one committed at or before `at_ms`."""

    batch: int | None = None
    at_ms: int | None = None
    label: str = ""
    dry_run: bool = False


@dataclass(frozen=True)
class ForkRequest:
    """A new job from a savepoint; None keeps what the savepoint's version has."""

    name: str
    code: str | None = None
    script: str | None = None
    args: tuple[str, ...] | None = None
    conf: Mapping[str, str] | None = None
    master: str | None = None
    dry_run: bool = False


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
