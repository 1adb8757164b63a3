"""Operations in words: how far, how fast, how long still, and what came of them."""

from __future__ import annotations

import pytest

from dashboard import progress
from pipelines.domain.errors import Unavailable
from pipelines.domain.ids import JobName, OperationId
from pipelines.domain.operations import Amount, Operation, OperationState
from pipelines.words import pace
from pipelines.words.pace import Sample
from tests import samples

NOW = 100_000.0


def operation(amount: Amount | None = None, *, kind: str = "export", subject: str = "sp-0123456789ab", result: str = "") -> Operation:
    return Operation(OperationId("op-1"), kind, JobName("a"), OperationState.RUNNING, 90_000, result=result, subject=subject, amount=amount)


def seen(*done: tuple[float, int]) -> tuple[Sample, ...]:
    return tuple(Sample(at, "copying", amount) for at, amount in done)


@pytest.mark.parametrize(
    ("samples", "rate"),
    [
        (seen(), None),
        (seen((0, 5)), None),
        (seen((0, 0), (500, 100)), None),
        (seen((0, 0), (2_000, 1_000)), 500.0),
        (seen((0, 0), (1_000, 900), (2_000, 1_000)), 500.0),
        (seen((0, 7), (5_000, 7)), 0.0),
    ],
)
def test_a_rate_needs_some_time(samples: tuple[Sample, ...], rate: float | None) -> None:
    assert pace.rate(samples) == rate


def test_samples_are_of_the_present_step_and_of_the_last_seconds() -> None:
    kept = pace.sampled(seen((85_000, 1), (95_000, 5)), Amount("copying", 9, 20), NOW)
    assert [sample.done for sample in kept] == [5, 9]
    assert [sample.done for sample in pace.sampled(seen((1_000, 1)), Amount("copying", 9, 20), NOW)] == [1, 9]
    assert [sample.done for sample in pace.sampled(seen((95_000, 5)), Amount("reading back", 0, 20), NOW)] == [0]
    assert pace.sampled(seen((95_000, 5)), None, NOW) == ()


@pytest.mark.parametrize(
    ("amount", "samples", "expected"),
    [
        (Amount("copying", 500_000, 2_000_000), (), ["copying", "500 kB of 2.0 MB", "begun 10 s ago"]),
        (
            Amount("copying", 1_000_000, 2_000_000),
            seen((98_000, 0), (100_000, 1_000_000)),
            ["copying", "1.0 MB of 2.0 MB", "500 kB/s", "2 s left"],
        ),
        (
            Amount("reading state", 3, 40, "stores"),
            seen((98_000, 1), (100_000, 3)),
            ["reading state", "3 of 40 stores", "1 store/s", "37 s left"],
        ),
        (Amount("reading files", 700), (), ["reading files", "700 B", "begun 10 s ago"]),
        (Amount("running a batch"), (), ["running a batch", "begun 10 s ago"]),
    ],
)
def test_how_it_goes_on(amount: Amount, samples: tuple[Sample, ...], expected: list[str]) -> None:
    assert progress.words(operation(amount), samples, NOW) == expected


def test_a_stop_waits_for_its_boundary() -> None:
    stop = operation(kind="stop", subject="")
    assert progress.title(stop) == "Stopping a"
    assert progress.words(stop, (), NOW) == ["at the next batch boundary", "asked 10 s ago"]


def test_the_bar_says_its_share_to_screen_readers() -> None:
    known = progress.bar(operation(Amount("copying", 1, 4)), (), NOW)
    assert 'aria-valuenow="25"' in known
    assert "width:25.0%" in known
    unknown = progress.bar(operation(Amount("copying", 1)), (), NOW)
    assert "aria-valuenow" not in unknown
    assert "tm-bar unknown" in unknown


def test_more_done_than_expected_is_still_all_of_it() -> None:
    assert pace.share(Amount("copying", 5, 4)) == 1.0
    assert pace.share(Amount("copying", 5, 0)) is None


def ended(state: OperationState, **more: str) -> Operation:
    begun = operation(**more)  # type: ignore[arg-type]
    return Operation(begun.id, begun.kind, begun.job, state, 0, 1, begun.result, subject=begun.subject)


@pytest.mark.parametrize(
    ("operation", "parts"),
    [
        (ended(OperationState.DONE, kind="prove", result="proved"), ("done", "Proved sp-01234567 of a: proved")),
        (ended(OperationState.DONE, kind="prove", result="intact"), ("not proved", "is intact, not proved")),
        (ended(OperationState.DONE, kind="verify", result="damaged"), ("damaged", "sp-01234567 of a is damaged")),
        (ended(OperationState.DONE, kind="import", subject="s3://b/x", result="sp-1"), ("done", "Imported sp-1")),
        (ended(OperationState.DONE, result="s3://b/x"), ("done", "Exported sp-01234567 of a to s3://b/x")),
        (ended(OperationState.CANCELLED), ("cancelled", "Exporting sp-01234567 of a was cancelled", "What it had made was removed.")),
        (
            samples.failed(operation(), Unavailable("storage.full", "The disk is <full>", "Make room")),
            ("failed", "&lt;full&gt;", "Make room", "storage.full"),
        ),
    ],
)
def test_what_came_of_it(operation: Operation, parts: tuple[str, ...]) -> None:
    html = progress.ending(operation)
    assert all(part in html for part in parts), html


@pytest.mark.parametrize(
    ("kind", "title"),
    [
        ("fork", "Forking sp-01234567 as a"),
        ("resume", "Resuming a from sp-01234567"),
        ("verify", "Verifying sp-01234567 of a"),
        ("migrate", "Migrate sp-01234567 of a"),
    ],
)
def test_what_it_works_on(kind: str, title: str) -> None:
    assert progress.title(operation(kind=kind)) == title


def test_a_sound_checkpoint_is_no_damage() -> None:
    assert progress.outcome(ended(OperationState.DONE, kind="diagnose", result="sound")) == "Examined sp-01234567 of a: nothing is damaged"
    assert progress.outcome(ended(OperationState.DONE, kind="diagnose", result="damaged")) == "sp-01234567 of a is damaged"
