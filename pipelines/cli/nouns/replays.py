"""Replays as text, as a JUnit file and as an exit code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from pipelines.cli import output
from pipelines.cli.additions import Parameter, Shown, command, completes, shows
from pipelines.cli.descriptions import describes
from pipelines.cli.nouns import code
from pipelines.cli.nouns.plans import restore_plan
from pipelines.cli.nouns.stops import within
from pipelines.cli.session import Here
from pipelines.domain.errors import Different, Invalid, TidemarkError
from pipelines.domain.replays import Outcome, Replay, ReplayedPart
from pipelines.verbs.replay import ListReplays, ReplayPlan, RunReplay, ShowReplay
from pipelines.words import formats, lockstep, replays

MOST_WAIT_S = 86_400
"""Characters that XML 1.0 does not have."""
JUNIT = Parameter(
    Path | None,
    typer.Option(
        "--junit", metavar="FILE", help="Write the result to this file as JUnit's XML, a test case for each part.", show_default=False
    ),
    None,
)
TITLES = {"only_a": "only in the job's own", "only_b": "only in the replay's", "changed": "changed (a. is the job's own, b. the replay's)"}


@completes(RunReplay, **code.SHIPPED)
def _replay(here: Here, values: Mapping[str, Any]) -> Mapping[str, Any]:
    return code.for_savepoint(here, values)


@shows(RunReplay, timeout=within(MOST_WAIT_S), junit=JUNIT)
def _replayed(here: Here, change: RunReplay, replay: Replay) -> Shown:
    """What came of it; the error decides the exit code."""
    if here.words.get("junit"):
        _write(here.words["junit"].expanduser(), replay)
    return Shown(replay, text_of(replay), _error(replay))


@command("replays", "experiments")
def listed(
    here: Here,
    replay: Annotated[str, typer.Argument(metavar="REPLAY", help="Id of a replay, to show that one.", show_default=False)] = "",
) -> None:
    """List replays, newest first. With a replay's id, its parts are printed instead."""
    if replay:
        shown = here.face.ask(ShowReplay(replay))
        here.show(shown, text_of(shown))
        return
    every = here.face.ask(ListReplays())
    here.show(every, _table(every, here.session.now_ms))


def _table(listed: Sequence[Replay], now_ms: int) -> str | output.Table:
    rows = [
        (
            replay.id,
            replay.job,
            replay.savepoint,
            replay.end,
            replay.outcome.value,
            formats.count(replay.batches),
            formats.ago(replay.created_ms, now_ms),
            formats.duration(replay.took_ms),
            replay.fork if replay.kept else formats.MISSING,
        )
        for replay in listed
    ]
    return output.Table(("REPLAY", "JOB", "FROM", "TO", "OUTCOME", "BATCHES>", "ENDED>", "TOOK>", "KEPT"), rows) if rows else ""


@describes(ReplayPlan)
def plan_text(plan: ReplayPlan, now_ms: int) -> str:
    """The plan of a replay."""
    facts = [
        *(("batches", f"{plan.began[query] + 1:,} to {batch:,} of {query}") for query, batch in plan.until.items()),
        *(("compared", part) for part in plan.compared),
        *(("not compared", part) for part in plan.not_compared),
    ]
    return "\n\n".join([output.details(facts), restore_plan(plan.restore, now_ms)])


def text_of(replay: Replay) -> str:
    """The whole, each part with its examples, and the fork that is kept."""
    parts = ["\n".join([*replays.lines(part), *([part.note] if part.note else []), *_examples(part)]) for part in replay.parts]
    kept = f"Kept: {replay.fork}. `compare {replay.job} {replay.fork}` and its page say more, `forget {replay.fork}` removes it."
    kept = kept if replay.kept else ""
    return "\n\n".join(
        filter(None, [f"{replay.id}: {replays.sentence(replay)}", replay.failure, lockstep.varies(replay.varies), *parts, kept])
    )


def _write(path: Path, replay: Replay) -> None:
    from pipelines.cli import junit

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(junit.document(replay, _text_of_part))
    except OSError as error:
        message = f"{path} cannot be written: {error.strerror}"
        raise Invalid("replay.junit", message, f"The result is kept: {replay.id}.") from error


def _error(replay: Replay) -> TidemarkError | None:
    if replay.outcome is Outcome.DIFFERENT:
        return Different("replay.different", replays.sentence(replay), "The parts above say where.")
    if replay.outcome is Outcome.FAILED:
        return TidemarkError("replay.failed", f"The code failed: {replay.failure}", f"See its log: logs {replay.fork}.")
    return None


def _text_of_part(part: ReplayedPart) -> str:
    return "\n".join([*replays.lines(part), part.note, *_examples(part)])


def _examples(part: ReplayedPart) -> list[str]:
    return [f"{TITLES.get(kind, kind)}:\n{output.any_rows(rows)}" for kind, rows in part.examples.items() if rows]
