"""Plans of code that is not run: the sandbox is asked for them, and says what each side's queries compute and would keep."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path

from pipelines.checkpoint import contracts
from pipelines.domain.contracts import Contract
from pipelines.domain.errors import Unavailable
from pipelines.domain.json_text import read_json
from pipelines.domain.plain_json import rebuilt
from pipelines.domain.plannings import NEW, RESULT_FILE, TASK_FILE, Planning, PlanTask
from pipelines.domain.run_specs import SPEC_FILE, RunSpec
from pipelines.domain.runs import LOG_FILE
from pipelines.domain.runtimes import Runtime
from pipelines.sandbox import processes
from pipelines.sandbox.states import timeout_s
from pipelines.storage.addresses import open_storage
from pipelines.workspace import rehearsals
from pipelines.workspace.context import Context
from pipelines.workspace.tickets import Ticket

PLANNING = "pipelines.driver.planning"


def asked(context: Context, folder: Path, task: PlanTask, specs: Mapping[str, RunSpec], runtime: Runtime, ticket: Ticket) -> Planning:
    """The plans of the task's sides, whose code is in folders of their names; what each would keep is left beside it.

    Raises Unavailable (`sandbox.failed`), and what `ticket` raises."""
    for side, spec in specs.items():
        (folder / side / SPEC_FILE).write_text(json.dumps(asdict(spec)))
    (folder / TASK_FILE).write_text(json.dumps(asdict(task)))
    work = replace(rehearsals.work(PLANNING, runtime, specs[NEW], *specs.values()), is_brief=True)
    context.sparks.run(work, folder, LOG_FILE, ticket.check, timeout_s())
    if not (folder / RESULT_FILE).is_file():
        message = f"The sandbox ended without a plan. Its last words:\n{processes.tail(folder / LOG_FILE, work.hidden)}"
        raise Unavailable("sandbox.failed", message, "Look at the job's confs and interpreter; then try again.")
    return rebuilt(Planning, read_json((folder / RESULT_FILE).read_text()))


def contract(folder: Path, batch: int) -> Contract:
    """What a checkpoint keeps; nothing where there is none."""
    return contracts.read(open_storage(str(folder)), batch) if folder.is_dir() else {}
