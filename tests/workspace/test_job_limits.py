"""Limits and the restart strategy of a job are in its files: they outlast the index, and a fork begins with them."""

from __future__ import annotations

import pytest

from pipelines.domain.errors import Invalid, NotFound
from pipelines.domain.job_limits import JobLimits
from pipelines.domain.restart_strategies import RestartStrategy, Strategy
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.jobs import ShowJob
from pipelines.verbs.restart_strategy import SetRestartStrategy
from pipelines.verbs.set_limits import SetLimits
from pipelines.verbs.system import ListEvents, RebuildCatalog
from pipelines.verbs.take import Take
from tests.workspace.conftest import House


def limits(house: House, job: str) -> JobLimits:
    return house.face.ask(ShowJob(job)).summary.job.limits


def test_they_stay_and_go_along(house: House) -> None:
    house.ran("a")
    plan = house.face.plan(SetLimits("a", quiet_ms=600_000, restarts=9))
    assert (plan.before, plan.after) == (JobLimits(), JobLimits(quiet_ms=600_000, restarts=9))
    assert limits(house, "a") == JobLimits(), "a plan changes nothing"
    do(house.face, SetLimits("a", quiet_ms=600_000, restarts=9))
    do(house.face, SetLimits("a", lag_ms=5_000, restarts=0))
    own = JobLimits(quiet_ms=600_000, lag_ms=5_000)
    do(house.face, SetRestartStrategy("a", Strategy.FIXED_DELAY, attempts=3))
    assert limits(house, "a") == own
    assert [event.kind for event in house.face.ask(ListEvents("a"))[:2]] == ["job.restart_strategy", "job.limits"]
    do(house.face, Fork(do(house.face, Take("a")).id, name="b"))
    do(house.face, RebuildCatalog())
    assert limits(house, "a") == limits(house, "b") == own
    strategies = [house.face.ask(ShowJob(job)).summary.job.restarts for job in "ab"]
    assert strategies == [RestartStrategy(Strategy.FIXED_DELAY, attempts=3)] * 2
    newest = house.face.ask(ListEvents("a"))[0]
    assert str(do(house.face, SetRestartStrategy("a")).restarts) == "fixed-delay --attempts 3"
    assert house.face.ask(ListEvents("a"))[0] == newest, "without options it says the strategy and changes nothing"
    do(house.face, SetLimits("b", quiet_ms=0, lag_ms=0))
    house.reopen()
    assert (limits(house, "a"), limits(house, "b")) == (own, JobLimits())


@pytest.mark.parametrize(
    ("change", "error", "code"),
    [
        (SetLimits("a"), Invalid, "limits.nothing"),
        (SetLimits("a", lag_ms=10**12), Invalid, "limits.longest"),
        (SetLimits("none", lag_ms=5), NotFound, "job.not_found"),
    ],
)
def test_refusals(house: House, change: SetLimits, error: type[Exception], code: str) -> None:
    house.ran("a")
    with pytest.raises(error) as refused:
        house.face.plan(change)
    assert refused.value.code == code  # type: ignore[attr-defined]
