"""Every verb is declared once: it has a doer and a way in from the shell, and nobody else has to know it."""

from __future__ import annotations

import ast
import itertools
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipelines import verbs
from pipelines.cli import commands
from pipelines.savepoint.layout import SAVEPOINT_PREFIX
from pipelines.verbs.verb import Asked, Change, Http
from pipelines.workspace import doers

ROOT = Path(__file__).resolve().parents[2]
HOMES = ("pipelines/verbs/", "pipelines/workspace/", "pipelines/cli/nouns/", "dashboard/views/")
"""Declarations, doers (which may be made of others), texts of the shell, pages."""
FRAME = {"ListOperations", "ShowOperation", "CancelOperation", "ReadAnswer"}
"""What follows the work of every verb; client and shell are built on it."""
ENGINE = {
    "pipelines/api/flink.py": {"Dispose", "ListJobs", "ListSavepoints", "ShowSavepoint", "Stop", "Take"},
    "pipelines/api/metrics.py": {"ListJobs", "ListQueries", "ShowHealth"},
    "pipelines/api/looking.py": {"ListEvents", "ListJobs"},
    "pipelines/api/logs.py": {"ReadLog"},
    "pipelines/api/server.py": {"Dispose"},
    "pipelines/api/stream.py": {"ListEvents", "ShowJob"},
    "pipelines/catalog/events.py": {"ListEvents"},
    "pipelines/catalog/state_worker.py": {"QueryState", "QueryStateDifference"},
    "pipelines/catalog/states.py": {"QueryState", "QueryStateDifference"},
    "dashboard/assembly.py": {"StartExample"},
    "dashboard/session.py": {"ListSavepoints", "ShowSpace"},
}
"""Files elsewhere that are a part of a verb: an older path of REST, its SQL, what a start of the server does, what pages share, what
Prometheus scrapes, what Flink's client asks, what a stream tells, a log as a file."""
ONLY_REST = {
    "event_series",
    "experiment",
    "health",
    "intervals",
    "manifest",
    "operation",
    "queries",
    "read_answer",
    "retained",
    "series",
    "state_sizes",
    "verification",
}
"""What pages and programs draw with; commands show parts of it."""
NAMES = {kind.__name__: kind for kind in verbs.every()}


def named() -> dict[str, set[str]]:
    """File outside of the homes -> the declarations that it imports."""
    declarations: defaultdict[str, set[str]] = defaultdict(set)
    for package in ("pipelines", "dashboard"):
        for path in (ROOT / package).rglob("*.py"):
            place = path.relative_to(ROOT).as_posix()
            if not place.startswith(HOMES):
                declarations[place] |= _imported(path) & NAMES.keys() - FRAME
    return {place: kinds for place, kinds in declarations.items() if kinds}


def hidden(call: Http, other: Http) -> list[tuple[str, str]]:
    """What `other` names, with the word of `call` that it would have to be so that both are one address."""
    words, parts = call.path.split("/"), other.path.split("/")
    if call.method != other.method or len(words) != len(parts) or call == other:
        return []
    pairs = [(part, word) for word, part in zip(words, parts, strict=True) if word != part]
    return pairs if all(part.startswith("{") for part, _ in pairs) else []


def _imported(path: Path) -> set[str]:
    modules = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom))
    return {alias.name for node in modules if (node.module or "").startswith("pipelines.verbs") for alias in node.names}


def test_nobody_else_names_a_verb() -> None:
    assert {place: kinds - ENGINE.get(place, set()) for place, kinds in named().items() if kinds - ENGINE.get(place, set())} == {}


def test_no_exception_is_left_over() -> None:
    imported = named()
    assert {place: kinds - imported.get(place, set()) for place, kinds in ENGINE.items() if kinds - imported.get(place, set())} == {}


@pytest.mark.parametrize("kind", verbs.every(), ids=lambda kind: kind.__name__)
def test_it_has_a_doer(kind: type[Asked[Any]]) -> None:
    does: Callable[[Any], object] = doers.planner if issubclass(kind, Change) else doers.answerer
    assert does(kind)


@pytest.mark.parametrize("kind", verbs.every(), ids=lambda kind: kind.__name__)
def test_it_has_words_and_a_way_in_from_the_shell(kind: type[Asked[Any]]) -> None:
    assert kind.topic in verbs.TOPICS
    assert (kind.__doc__ or "").rstrip().endswith((".", ".)"))
    words = {word for word, _ in commands.every()}
    assert not kind.command or kind.command in words
    assert kind.command or kind.within or kind.call in ONLY_REST


def test_no_id_is_a_call() -> None:
    """A savepoint called `import` would be out of reach, or would be taken for the call; its ids all begin with `sp-`."""
    calls = [http for kind in NAMES.values() for http in (kind.http, *kind.also)]
    pairs = {pair for call, other in itertools.product(calls, calls) for pair in hidden(call, other)}
    beside = {word for call in calls for before, word in itertools.pairwise(call.path.split("/")) if before == "savepoints"}
    assert not any(word.startswith(SAVEPOINT_PREFIX) for word in beside)
    assert {part for part, _ in pairs} <= {"{savepoint}"}, pairs
