"""The source over HTTP against a server that misbehaves: each row once and in order, or a failure that says what is gone."""

from __future__ import annotations

import itertools
import json
from datetime import datetime
from typing import Any

import pandas
import pytest
import urllib3

from tests.jobs.feeds import serving
from tests.jobs.loading import script

SOURCE, FEED = script("http_log"), script("http_feed")
FILES = 3


def reader(url: str, **options: str) -> Any:
    return SOURCE["HttpLogReader"]({"url": url, "rowsPerPartition": "50", **options})


def read(source: Any, start: int, end: int) -> list[dict[str, Any]]:
    parts = source.partitions({"next": start}, {"next": end})
    rows = [row for part in parts for row in source.read(part)]
    assert [n for n, _ in rows] == list(range(start, end))
    return [json.loads(row) for _, row in rows]


@pytest.mark.parametrize("trouble", FEED["TROUBLES"])
def test_every_second_answer_is_wrong_and_each_row_comes_once(trouble: str) -> None:
    answers = itertools.cycle([trouble, ""])
    with serving(FILES, lambda: next(answers)) as (url, feed):
        source = reader(url, timeout="0.2" if trouble == "late" else "10")
        end = source.latestOffset({"next": 0}, SOURCE["ReadMaxRows"](10_000))["next"]
        assert len(feed.log) - FEED["BEHIND"] <= end <= len(feed.log)
        assert read(source, 0, end) == feed.log[:end]


def test_a_server_that_never_answers_well_is_an_error_that_says_so() -> None:
    with serving(FILES, lambda: "cut unseen") as (url, _), pytest.raises(ValueError, match="not given a whole answer in 10"):
        reader(url).initialOffset()
    with serving(FILES, lambda: "behind") as (url, feed), pytest.raises(ValueError, match=r"has not given row \d+ in 10 answers"):
        feed.grow()
        read(reader(url), 0, len(feed.log))
    with pytest.raises(urllib3.exceptions.MaxRetryError), serving(FILES, lambda: "error") as (url, _):
        client = urllib3.PoolManager(retries=urllib3.Retry(2, backoff_factor=0, status_forcelist=SOURCE["STATUSES"]))
        SOURCE["ask"](client, url)


def test_rows_that_are_gone_are_never_passed_over() -> None:
    with serving(FILES, keep=60) as (url, feed):
        source = reader(url)
        first = source.initialOffset()["next"]
        assert first == len(feed.log) - 60 and source.reportLatestOffset() == {"next": len(feed.log), "holds": {"next": first}}
        assert read(source, first, len(feed.log)) == feed.log[first:]
        with pytest.raises(ValueError, match=rf"has lost rows 20 to {first - 1}: it begins at {first}"):
            read(source, 20, first + 1)


def test_a_store_says_since_when_an_answer_holds_and_how_far_it_knows() -> None:
    job, answers = script("author_lookups"), itertools.cycle(["behind", "cut unseen", ""])
    with serving(FILES, lambda: next(answers)) as (url, feed):
        feed.grow()
        micros = [int(datetime.fromisoformat(row["at"]).timestamp() * 1_000_000) for row in feed.log]
        store = url.replace("/views", "/authors")
        views = pandas.DataFrame({"page": [row["page"] or "page-00" for row in feed.log], "micros": micros})
        (before,) = job["authors"](store)(iter([views]))
        feed.args.files += 50
        (after,) = job["authors"](store)(iter([views]))
    assert before["author"].nunique() > 1 and after.equals(before), "what the store has learned since changes no answer"


def test_offsets_only_go_on_and_stop_where_they_should() -> None:
    with serving(FILES) as (url, feed):
        source, all_rows = reader(url), SOURCE["ReadLimit"]()
        assert source.latestOffset({"next": 3}, source.getDefaultReadLimit()) == {"next": len(feed.log)}
        assert source.latestOffset({"next": 3}, SOURCE["ReadMaxRows"](10)) == {"next": 13}
        assert source.latestOffset({"next": 9_999}, all_rows) == {"next": 9_999}, "a copy that is behind takes nothing back"
        source.prepareForTriggerAvailableNow()
        there, feed.args.files = len(feed.log), FILES + 1
        assert reader(url).latestOffset({"next": 0}, all_rows)["next"] > there
        assert source.latestOffset({"next": 0}, all_rows) == {"next": there}, "what came later is left for the next time"
