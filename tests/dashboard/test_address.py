"""What an address says and the page does not know is told, whatever it is about."""

from __future__ import annotations

import pytest

from tests.dashboard.opening import Opener, texts
from tests.faces import FakeFace

JOB, SAVEPOINT = {"job": "post_engagement"}, {"savepoint": "sp-000000000002"}
WRONG = {
    "the zone": ("events", {"zone": "Mars"}, "It may say local or UTC."),
    "the range": ("overview", {"range": "3h"}, "It may say 15m, 1h, 6h, 24h, 7d or 30d."),
    "a state": ("overview", {"state": "Broken"}, "It may say All, Running,"),
    "a number of a page": ("overview", {"page": "two"}, "It may say a number."),
    "a range of time": ("job", JOB | {"from": "yesterday"}, "It may say a time, such as"),
    "a moment": ("job", JOB | {"at": "noon"}, "It may say a number."),
    "a batch": ("job", JOB | {"tab": "Batches", "batch": "counts:99999"}, "There is no such batch here."),
    "a level": ("job", JOB | {"tab": "Logs", "level": "Loud"}, "It may say All levels, Trace,"),
    "a job among savepoints": ("savepoints", {"job": "nope"}, "There is no such job here."),
    "a trust": ("savepoints", {"trust": "blind"}, "There is no such trust here."),
    "a job among versions": ("versions", {"job": "nope"}, "There is no such job here."),
    "a variant": ("experiments", {"experiment": "ex-1", "b": "nope"}, "There is no such variant here."),
    "a store": ("state", SAVEPOINT | {"store": "nope"}, "There is no such store here."),
    "a source": ("new_job", {"source": "Thin air"}, "It may say Gallery, File, Paste or"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_value_is_told_with_what_it_may_be(opened: Opener, name: str) -> None:
    page, query, hint = WRONG[name]
    wrong, value = list(query.items())[-1]
    words = texts(opened(FakeFace.busy(), page, **query))
    assert f"The address says {wrong}={value}" in words
    assert hint in words


def test_what_fits_is_not_spoken_of(opened: Opener) -> None:
    address = JOB | {"zone": "UTC", "range": "1h", "from": "2026-11-21T03:10:00Z", "to": "2026-11-21T03:30:00Z", "at": "1795230600000"}
    assert "The address says" not in texts(opened(FakeFace.busy(), "job", **address))
