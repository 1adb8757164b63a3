"""An upgrade whose server is killed, or ends, between its steps: the next one completes it, once, with real drivers."""

from __future__ import annotations

import signal

import pytest

from pipelines.domain.errors import Unavailable
from pipelines.domain.operations import Operation, OperationState
from pipelines.domain.runs import RunState
from pipelines.domain.versions import Version
from pipelines.supervisor import processes
from pipelines.verbs.face import do
from pipelines.verbs.jobs import ShowJob
from pipelines.verbs.operations import ListOperations
from pipelines.verbs.system import ListEvents, RebuildCatalog
from pipelines.verbs.upgrade import Upgrade
from pipelines.workspace import changeovers, versions
from pipelines.workspace.context import Context
from pipelines.workspace.tickets import Ticket
from tests.supervisor.conftest import House, until
from tests.workspace import process_forks

TAKEN_UP = "the upgrade of a goes on: its server had ended"
CHANGED = Upgrade("a", code="x = 2\n", check=False)


def upgrade(house: House) -> Operation:
    (operation,) = [operation for operation in house.workspace.ask(ListOperations()) if operation.kind == "upgrade"]
    return operation


def passes(house: House) -> bool:
    """Whether the upgrade has ended, after a pass."""
    house.run()
    return upgrade(house).state is not OperationState.RUNNING


def said(house: House) -> list[str]:
    return [event.message for event in house.workspace.ask(ListEvents("a"))]


def has_document(house: House) -> bool:
    return changeovers.find(house.workspace.context, house.run().job) is not None


def assert_upgraded_once(house: House) -> None:
    until(lambda: passes(house))
    until(lambda: house.run().state is RunState.RUNNING)
    after, before = house.workspace.ask(ShowJob("a")).runs
    assert (upgrade(house).state, upgrade(house).result) == (OperationState.DONE, after.id), upgrade(house)
    assert before.state is RunState.STOPPED and after.version != before.version
    words = f"a was upgraded: it goes on as version {after.version}, where it was {before.version}"
    assert said(house).count(words) == said(house).count(TAKEN_UP) == 1 and not has_document(house)


@pytest.mark.parametrize(
    ("document", "number"),
    [("changeover.json", 1), ("wanted.json", 1), ("wanted.json", 2), ("run.json", 1), ("wanted.json", 3), ("forget", 0)],
    ids=("undecided", "decided", "stopping", "stopped", "beginning", "begun"),
)
def test_a_server_is_killed_between_its_steps(house: House, document: str, number: int) -> None:
    driver = house.up(house.begin("wait"))
    until(lambda: house.run().state is RunState.RUNNING)
    house.workspace.close()
    with process_forks.of("tests.supervisor.killed_upgrading") as forked:
        assert forked(house.root, document, number) == -signal.SIGKILL
    house.open()
    if document == "changeover.json":
        run = house.run()
        assert (run.state, upgrade(house).error_code) == (RunState.RUNNING, "operation.interrupted") and len(
            house.workspace.ask(ShowJob("a")).runs
        ) == 1
        return
    if document == "forget":
        do(house.workspace, RebuildCatalog())
    assert_upgraded_once(house)
    if (begun_here := processes._CHILDREN.pop(driver, None)) is not None:
        begun_here.wait()


def test_a_server_that_ends_leaves_it_to_the_next(house: House) -> None:
    house.up(house.begin("wait"))
    until(lambda: house.run().state is RunState.RUNNING)
    house.workspace.begin(CHANGED)
    until(lambda: house.workspace.context.files.wanted(house.run().job).stop is not None)
    house.reopen()
    assert_upgraded_once(house)


def test_where_the_changed_code_cannot_begin_any_more_the_job_goes_on_as_it_was(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    before = house.begin("wait")
    house.up(before)
    house.workspace.begin(CHANGED)
    until(lambda: house.workspace.context.files.wanted(before.job).stop is not None)
    house.workspace.close()
    freeze = versions.freeze

    def fails(context: Context, version: Version, ticket: Ticket) -> Version:
        if version.id != before.version:
            raise Unavailable("disk.full", "The code could not be written.", "Make room.")
        return freeze(context, version, ticket)

    monkeypatch.setattr(versions, "freeze", fails)
    house.open()
    until(lambda: passes(house))
    run = house.run()
    assert run.id != before.id and run.version == before.version and run.state.live and not has_document(house)
    assert (upgrade(house).error_code, upgrade(house).error_message) == ("disk.full", "The code could not be written. a goes on as it was")
