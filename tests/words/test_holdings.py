"""What sources still hold, in words; and when the next savepoint is due."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pipelines.domain.holdings import HOLDINGS_FORMAT, LEAST_MS, Holding, Holdings, Usable, ends_ms, next_due_ms
from pipelines.domain.ids import QueryName, RunId, SavepointId, VersionId
from pipelines.words import holdings as words
from tests import samples

NOW_MS, HOUR_MS, DAY_MS = 1_800_000_000_000, 3_600_000, 86_400_000
FINE = Holding(QueryName("counts"), "0", Usable.YES, "all 4 files that were read after it are there")
DATED = replace(FINE, until_ms=NOW_MS + 2 * DAY_MS + 4 * HOUR_MS, keeps_ms=4 * DAY_MS)
LACKS = replace(
    FINE, usable=Usable.NO, why="3 of the 4 files that were read after it are gone", gone=3, gaps=("file:///in/a", "file:///in/b")
)
DUMB = replace(FINE, usable=Usable.UNKNOWN, why="nobody can ask the source mine what it still holds")


def held(*sources: Holding) -> Holdings:
    return Holdings(HOLDINGS_FORMAT, SavepointId("sp-1"), NOW_MS, sources, NOW_MS)


@pytest.mark.parametrize(
    ("holdings", "says", "is_over"),
    [
        (None, "not asked yet", False),
        (held(), "usable", False),
        (held(FINE), "usable", False),
        (held(FINE, DATED), "usable for 2d 4h", False),
        (held(replace(DATED, until_ms=NOW_MS)), "about to run out", True),
        (held(FINE, DUMB), "cannot tell", False),
        (held(DUMB, LACKS, FINE), "no longer: 3 files gone", True),
        (held(LACKS, replace(LACKS, gone=1, unit="records")), "no longer: 3 files gone, 1 record gone", True),
    ],
)
def test_it_is_said_in_a_word_or_two(holdings: Holdings | None, says: str, is_over: bool) -> None:
    assert (words.held(holdings, NOW_MS), words.is_over(holdings, NOW_MS)) == (says, is_over)


def test_a_damaged_savepoint_is_not_usable_whatever_its_sources_hold() -> None:
    whole = replace(samples.savepoint("sp-1", "a", version=VersionId("v-1"), run=RunId("r-1")), holdings=held(FINE))
    assert (words.usable(whole, NOW_MS), words.usable(replace(whole, damaged_files=1), NOW_MS)) == ("usable", "no: damaged")


def test_the_reason_names_what_is_gone() -> None:
    assert words.why(held(FINE, LACKS)) == "counts, source 0: 3 of the 4 files that were read after it are gone, such as file:///in/a"
    assert words.hint(held(FINE), NOW_MS + HOUR_MS).startswith("counts, source 0: all 4 files that were read after it are there. Asked ")


def test_it_ends_by_its_sources_or_by_its_date() -> None:
    assert ends_ms(None, None) is None and ends_ms(held(FINE), 5) == 5
    assert ends_ms(held(DATED), None) == DATED.until_ms
    assert ends_ms(held(LACKS, DATED), NOW_MS + DAY_MS) == NOW_MS


def test_the_next_one_is_due_before_it_runs_out_and_only_where_it_helps() -> None:
    assert next_due_ms(None, 0) is None and next_due_ms(held(FINE, DUMB), 0) is None
    assert next_due_ms(held(FINE, DATED), 0) == (DATED.until_ms or 0) - DAY_MS
    assert next_due_ms(held(replace(DATED, keeps_ms=LEAST_MS - 1)), 0) is None
    assert next_due_ms(held(LACKS), NOW_MS - LEAST_MS) == NOW_MS
    assert next_due_ms(held(LACKS), NOW_MS - LEAST_MS + 1) is None, "its source kept things for too short a time"
