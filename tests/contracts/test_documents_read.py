"""What is read from files has a schema with bounds: whoever wrote it, its numbers fit the catalog, and nothing else parses JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from pipelines.catalog.sizes import CheckpointSize
from pipelines.checkpoint.doctor import Examined
from pipelines.client.servers import Announcement
from pipelines.domain.access import Tokens
from pipelines.domain.alerts import AlertSettings, AlertStates
from pipelines.domain.annotations import Annotation
from pipelines.domain.applications import Unanswered
from pipelines.domain.audit import AuditLine
from pipelines.domain.backups import Backup, Listing
from pipelines.domain.bisections import Bisection
from pipelines.domain.edges import Edge
from pipelines.domain.experiments import Experiment
from pipelines.domain.holdings import Holdings
from pipelines.domain.homes import Home, HomeSettings
from pipelines.domain.idempotency import KeptCall
from pipelines.domain.input_rows import InputsRead
from pipelines.domain.installed import Installed
from pipelines.domain.jobs import Event, Job, Wanted
from pipelines.domain.log_levels import LevelsAsked, LevelsSet
from pipelines.domain.masters import Cluster
from pipelines.domain.operations import Operation
from pipelines.domain.plans import QueryPlan
from pipelines.domain.probations import Probation
from pipelines.domain.processes import Process
from pipelines.domain.progress import Progress
from pipelines.domain.replays import Replay
from pipelines.domain.resources import Held
from pipelines.domain.restarts import RestartDecision
from pipelines.domain.run_specs import RunSpec
from pipelines.domain.runs import DriverEvent, Exit, QueryStarted
from pipelines.domain.savepoints import Manifest
from pipelines.domain.schedules import Schedule
from pipelines.domain.sources import SourceSeen
from pipelines.domain.state_differences import StateDifference
from pipelines.domain.states import Reading
from pipelines.domain.trust import Verification
from pipelines.domain.versions import Version
from pipelines.domain.what_ifs import WhatIf
from pipelines.savepoint.checksums import Seal
from pipelines.savepoint.exports import Target
from pipelines.savepoint.import_records import ImportRecord
from pipelines.savepoint.objects import Objects
from pipelines.savepoint.process_marks import ProcessMark
from pipelines.savepoint.progress_file import Said
from pipelines.savepoint.worker import Found
from pipelines.storage.documents import Numbered
from pipelines.supervisor.afar.mirror import Mirrored
from pipelines.supervisor.afar.starting import EndAsked
from pipelines.supervisor.facts import Terminated
from pipelines.workspace.changeovers import Changeover
from pipelines.workspace.json_lines import Idle, Size
from pipelines.workspace.locking import Announced
from pipelines.workspace.opening import Marker
from pipelines.workspace.plan_differences import KeptPlans
from pipelines.workspace.tag_removals import Removal
from pipelines.workspace.verdicts import KeptVerdict

ROOT = Path(__file__).parents[2]
DECODED = [
    AlertSettings,
    AlertStates,
    Annotation,
    Announced,
    Announcement,
    AuditLine,
    Backup,
    Bisection,
    Changeover,
    Cluster,
    DriverEvent,
    Edge,
    EndAsked,
    Event,
    Examined,
    Exit,
    Experiment,
    Found,
    Holdings,
    Home,
    HomeSettings,
    Idle,
    ImportRecord,
    InputsRead,
    Installed,
    Job,
    KeptCall,
    KeptPlans,
    KeptVerdict,
    LevelsAsked,
    LevelsSet,
    Listing,
    Manifest,
    Marker,
    Mirrored,
    Numbered,
    Objects,
    Process,
    Probation,
    ProcessMark,
    QueryPlan,
    QueryStarted,
    Reading,
    Removal,
    Replay,
    RestartDecision,
    RunSpec,
    Said,
    Schedule,
    Seal,
    Size,
    StateDifference,
    Target,
    Terminated,
    Tokens,
    Unanswered,
    Verification,
    Version,
    Held,
    Wanted,
    WhatIf,
]
"""Everything that is decoded from a file."""
CHECKED = [CheckpointSize, Operation, Progress, SourceSeen]
"""What is made of such a file, and goes into the catalog."""
DECODES = re.compile(r"(?:\bdecode|read_beside|files\.find|files\.read|self\.(?:find|read))\(([A-Z]\w+), ")
PARSES = {"pipelines/domain/json_text.py", "dashboard/needs.py"}
"""Who may call `json.loads`: the one reader, and readers of what this program itself has just written."""
OWN = ("pipelines/jobs/", "pipelines/driver/", "pipelines/sandbox/", "pipelines/workers/")
"""Programs of their own."""


@pytest.mark.parametrize("kind", [*DECODED, *CHECKED])
def test_every_number_of_a_document_has_bounds(kind: type) -> None:
    schema = TypeAdapter(kind).json_schema()
    unbounded = [path for path, node in numbers(schema, kind.__name__) if not {"minimum", "maximum"} <= node.keys()]
    assert unbounded == []


def test_every_document_that_is_decoded_is_among_them() -> None:
    names = {name for path in sources() for name in DECODES.findall(path.read_text())}
    assert names == {kind.__name__ for kind in DECODED}


def test_json_is_parsed_in_one_place() -> None:
    parsing = {name for path in sources() if "json.loads(" in path.read_text() and not (name := relative(path)).startswith(OWN)}
    assert parsing == PARSES


def numbers(node: Any, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each number of a JSON schema, with where it is."""
    if isinstance(node, dict):
        if node.get("type") in ("integer", "number"):
            yield path, node
        for name, inner in node.items():
            yield from numbers(inner, f"{path}.{name}")
    elif isinstance(node, list):
        for inner in node:
            yield from numbers(inner, path)


def sources() -> Iterator[Path]:
    for package in ("pipelines", "dashboard"):
        yield from (ROOT / package).rglob("*.py")


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()
