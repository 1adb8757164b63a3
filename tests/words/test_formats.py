"""Numbers and times as people read them."""

from __future__ import annotations

import math
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

import pytest

from pipelines.domain.bounds import LATEST_MS
from pipelines.domain.triggers import Trigger, TriggerKind
from pipelines.words import formats, triggers

DAY = 86_400_000


@pytest.mark.parametrize(
    ("value", "says"),
    [(None, "–"), (math.nan, "–"), (0, "0"), (0.42, "0.4"), (7, "7"), (666, "666"), (999.7, "1.0k"), (15_720, "15.7k"), (3_000_000, "3.0M"),
     (133_300, "133k"), (2.5e9, "2.5G"), (-1_500, "-1.5k")],
)  # fmt: skip
def test_compact(value: float | None, says: str) -> None:
    assert formats.compact(value) == says


@pytest.mark.parametrize(
    ("value", "says"),
    [(None, "–"), (0, "0 B"), (999, "999 B"), (1_000, "1.0 kB"), (46_000_000, "46.0 MB"), (666_000_000, "666 MB"), (2.1e9, "2.1 GB")],
)
def test_size(value: float | None, says: str) -> None:
    assert formats.size(value) == says


@pytest.mark.parametrize(
    ("ms", "says"),
    [(None, "–"), (0, "0 ms"), (480, "480 ms"), (999.4, "999 ms"), (999.6, "1.00 s"), (2_310, "2.31 s"), (34_200, "34.2 s"),
     (59_996, "1m 00s"), (252_000, "4m 12s"), (3 * 3_600_000 + 240_000, "3h 04m"), (3 * DAY + 4 * 3_600_000, "3d 4h"), (-1_500, "-1.50 s")],
)  # fmt: skip
def test_duration(ms: float | None, says: str) -> None:
    assert formats.duration(ms) == says


@pytest.mark.parametrize(
    ("away", "says"),
    [(0, "just now"), (1_999, "just now"), (12_000, "12 s ago"), (300_000, "5 min ago"), (3 * 3_600_000, "3 h ago"), (DAY, "1 day ago"),
     (2 * DAY, "2 days ago"), (-300_000, "in 5 min")],
)  # fmt: skip
def test_ago(away: int, says: str) -> None:
    assert formats.ago(1_795_000_000_000 - away, 1_795_000_000_000) == says


def test_exact_names_its_zone() -> None:
    assert formats.exact(0, UTC) == "1970-01-01 00:00:00 UTC"
    assert formats.exact(0, ZoneInfo("Europe/Berlin")) == "1970-01-01 01:00:00 CET"
    assert formats.exact(None, UTC) == "–"


def test_words() -> None:
    assert [formats.plural(n, "job") for n in (0, 1, 2_000)] == ["0 jobs", "1 job", "2,000 jobs"]
    assert formats.plural(3, "batch", "batches") == "3 batches"
    assert formats.short_id("sp-1a2b3c4d5e6f") == "sp-1a2b3c4d"
    assert formats.shortened("clicks", 9) == "clicks" and formats.shortened("clicks_of_posts_v03", 9) == "click…v03"
    assert formats.rate(None) == "–"


def test_moments_with_their_age_and_days() -> None:
    at_ms = datetime(2027, 1, 15, 8, tzinfo=UTC).timestamp() * 1_000
    assert formats.when(at_ms, at_ms + 180_000, UTC) == "2027-01-15 08:00:00 UTC (3 min ago)"
    assert formats.when(None, at_ms, UTC) == formats.last_day(None, at_ms, UTC) == "–"
    assert [formats.last_day(at_ms, now_ms, UTC) for now_ms in (at_ms, at_ms + 1)] == ["2027-01-15", "2027-01-15, past"]


def test_amounts_in_their_unit() -> None:
    assert [formats.quantity(1_500_000, unit) for unit in ("bytes", "files")] == ["1.5 MB", "1,500,000 files"]


@pytest.mark.parametrize(
    ("value", "unit", "says"),
    [(1, "batches", "1 batch"), (1, "stores", "1 store"), (0, "files", "0 files"), (1_200, "rows", "1,200 rows"), (1, "bytes", "1 B")],
)
def test_an_amount_of_one_is_singular(value: int, unit: str, says: str) -> None:
    assert formats.quantity(value, unit) == says


def test_paces_and_files() -> None:
    paces = [formats.pace(1.0, "batches"), formats.pace(2.5, "stores"), formats.pace(1_500, "bytes")]
    assert paces == ["1 batch/s", "2.5 stores/s", "1.5 kB/s"]
    assert [formats.files(1, 900), formats.files(12, 2e6)] == ["1 file, 900 B", "12 files, 2.0 MB"]


@pytest.mark.parametrize("at_ms", [10**15, -(2**63), 2**63 - 1, LATEST_MS])
@pytest.mark.parametrize("zone", [UTC, ZoneInfo("Pacific/Kiritimati"), ZoneInfo("Pacific/Honolulu"), None])
def test_a_moment_in_any_year_has_a_text(at_ms: int, zone: tzinfo | None) -> None:
    """A job's event times may be in any year; our own end where every zone still has a day."""
    assert formats.exact(at_ms, zone).startswith("9999-12-3") == (at_ms == LATEST_MS)
    assert formats.when(at_ms, 0, zone) and formats.clock(at_ms, zone or UTC)


@pytest.mark.parametrize(
    ("trigger", "words"),
    [
        (None, "–"),
        (Trigger(TriggerKind.PROCESSING_TIME, 10_000), "every 10.0 s"),
        (Trigger(TriggerKind.PROCESSING_TIME), "as soon as there is data"),
        (Trigger(TriggerKind.ONCE), "one batch, then it ends"),
        (Trigger(TriggerKind.REAL_TIME, 300_000), "real time, batches of 5m 00s"),
    ],
)
def test_triggers(trigger: Trigger | None, words: str) -> None:
    assert triggers.spelt(trigger) == words
