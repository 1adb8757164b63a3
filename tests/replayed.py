"""A replay that differs and a bisection, as the fake workspace has them: a part of `tests.changes` and `tests.questions`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pipelines.domain.bisections import Answer, Bisection, Changes, Input, Over, Step, Way
from pipelines.domain.errors import NotFound
from pipelines.domain.ids import BisectionId, JobName, QueryName, ReplayId, SavepointId, VersionId
from pipelines.domain.replays import Kind, Outcome, Replay, ReplayedPart
from pipelines.verbs.bisect import Bisect, BisectPlan, ListBisections, ShowBisection
from pipelines.verbs.forget import Forget
from pipelines.verbs.replay import ListReplays, ReplayPlan, RunReplay, ShowReplay
from tests import samples

JOB = JobName("post_engagement")
FIRST, LAST = SavepointId("sp-000000000002"), SavepointId("sp-000000000003")
COUNTS = QueryName("counts")


def replay() -> Replay:
    """One that differs, and that ended a minute before the fakes' now."""
    return Replay(
        id=ReplayId("rp-000000000001"),
        job=JOB,
        savepoint=FIRST,
        end=LAST,
        version=VersionId("v-000000000001"),
        fork=JobName("replay-000000000001"),
        kept=True,
        began={COUNTS: 7},
        until={COUNTS: 9},
        created_ms=samples.NOW_MS - 60_000,
        took_ms=21_000.0,
        outcome=Outcome.DIFFERENT,
        parts=(
            ReplayedPart(
                kind=Kind.OUTPUT,
                query=COUNTS,
                name="parquet",
                outcome=Outcome.DIFFERENT,
                columns=("post", "views"),
                keys=("post",),
                rows_a=120,
                rows_b=119,
                equal=117,
                only_a=1,
                changed=2,
                since=8,
                first=9,
                examples={
                    "only_a": ({"post": "p7", "views": 3},),
                    "only_b": (),
                    "changed": ({"post": "p1", "a.views": 12, "b.views": 11}, {"post": "p2", "a.views": 8, "b.views": 6}),
                },
            ),
            ReplayedPart(Kind.STATE, COUNTS, "counts / 0 / default", Outcome.EQUAL, ("value.count",), ("key.post",), 40, 40, 40),
            ReplayedPart(Kind.OUTPUT, QueryName("late"), "console", Outcome.NOT_COMPARED, note="the sink console keeps no rows to compare"),
        ),
        varies=("rand()",),
    )


def bisection() -> Bisection:
    """One that found its batch, two minutes before the fakes' now."""
    return Bisection(
        id=BisectionId("bi-000000000001"),
        job=JOB,
        query=COUNTS,
        over=Over.OUTPUT,
        table="",
        good=FIRST,
        bad=LAST,
        good_batch=2,
        bad_batch=9,
        sql="SELECT * FROM output WHERE views < 0",
        steps=(
            Step(2, Answer.RIGHT, Way.SAVEPOINT, 0, 40.0),
            Step(9, Answer.WRONG, Way.SAVEPOINT, 2, 41.0),
            Step(5, Answer.RIGHT, Way.LOG, 0, 39.0),
            Step(7, Answer.WRONG, Way.LOG, 1, 38.0),
            Step(6, Answer.RIGHT, Way.LOG, 0, 37.0),
        ),
        right=6,
        wrong=7,
        inputs=(Input("0", '{"logOffset":6}', '{"logOffset":7}', ("file:///data/events/007.json",)),),
        columns=("post", "views"),
        rows=(("p7", -3),),
        more=False,
        created_ms=samples.NOW_MS - 120_000,
        took_ms=900.0,
        changes=Changes(
            ("post", "views"),
            ("post",),
            0,
            0,
            1,
            1,
            {"changed": ({"post": "p7", "a.views": 4, "b.views": -3},), "only_b": ({"post": "p8"},)},
        ),
    )


PLANS: dict[Any, Any] = {
    RunReplay: lambda face, it: ReplayPlan(
        JOB,
        {COUNTS: 7},
        {COUNTS: 9},
        ("output of counts (parquet)", "state of counts / 0 / default"),
        (),
        it.keep,
        samples.restore_plan(it.savepoint, "replay-000000000001", keeps_query_id=False),
    ),
    Bisect: lambda face, it: BisectPlan(JobName(it.job), COUNTS, it.over, "", 2, 9, 3, "6 of the 6 batches in between can be judged."),
}
ANSWERS: dict[Any, Any] = {
    RunReplay: lambda face, it: _works(face, "replay", it.savepoint, replay()),
    Bisect: lambda face, it: _works(face, "bisect", "", bisection()),
}


def _works(face: Any, kind: str, subject: str, outcome: Replay | Bisection) -> Any:
    """An operation that has ended after four looks."""
    return face.under_way(*samples.course(samples.begun(f"op-{kind}", kind, JOB, subject), outcome.id), outcome=outcome)


def _as_it_is(face: Any) -> Replay:
    """Without its fork, once that is forgotten."""
    return replace(replay(), kept=Forget(replay().fork) not in face.begun)


def _named(known: Any, name: str) -> Any:
    if name != known.id:
        raise NotFound("replay.not_found", f"There is no {name!r}", "List them to see their ids.")
    return known


ASKED: dict[Any, Any] = {
    ListReplays: lambda face, it: (_as_it_is(face),),
    ShowReplay: lambda face, it: _named(_as_it_is(face), it.replay),
    ListBisections: lambda face, it: (bisection(),),
    ShowBisection: lambda face, it: _named(bisection(), it.bisection),
}
