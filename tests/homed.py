"""Plans and answers of the fakes, for homes of savepoints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from pipelines.domain.homes import WORKSPACE, HomeCheck, Homes, Step, TriedStep, UsedHome
from pipelines.domain.ids import JobName
from pipelines.verbs.homes import CheckHome, CheckHomePlan, HomePlan, SetHome
from pipelines.verbs.verb import Change

if TYPE_CHECKING:
    from tests.faces import FakeFace

BUCKET = "s3://backups/tidemark"
HOMES = Homes(
    WORKSPACE,
    WORKSPACE,
    {JobName("post_events"): BUCKET},
    (UsedHome(WORKSPACE, 2, 3_000_000, (JobName("post_events"),)), UsedHome(BUCKET, 1, 1_000_000, (JobName("post_events"),))),
)
CHECK = HomeCheck(
    BUCKET,
    (
        TriedStep(Step.WRITE, 12.0),
        TriedStep(Step.READ, 4.0),
        TriedStep(Step.LIST, 3.0),
        TriedStep(Step.COPY, 5.0, how="server-copy"),
        TriedStep(Step.DELETE, 6.0),
    ),
)
Told = Mapping[type[Change[Any, Any]], "Callable[[FakeFace, Any], Any]"]
PLANS: Told = {
    SetHome: lambda face, it: HomePlan(JobName(it.job), WORKSPACE, it.home),
    CheckHome: lambda face, it: CheckHomePlan(it.home),
}
ANSWERS: Told = {SetHome: lambda face, it: HOMES, CheckHome: lambda face, it: CHECK}
